// One record, attribute by attribute, every word a button that puts it into the question. Content is bound as text only.

export default {
  template: `
    <dl class="record">
      <template v-for="attribute in attributes" :key="attribute.name">
        <dt>{{ attribute.name }}</dt>
        <dd>
          <span v-if="!attribute.parts.length" class="record-empty">empty</span>
          <template v-for="(part, place) in attribute.parts" :key="place"
            ><button
              v-if="part.word"
              type="button"
              class="record-word"
              :disabled="fixed"
              :title="part.title"
              @click="$emit('word', { word: part.word, attribute: attribute.name })"
            >{{ part.text }}</button
            ><span v-else>{{ part.text }}</span></template
          >
        </dd>
      </template>
    </dl>
  `,
  props: { attributes: Array, fixed: Boolean },
  emits: ["word"],
};
