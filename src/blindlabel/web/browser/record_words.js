// One record, attribute by attribute: every word a button that puts it into the question or takes it out, shaded by how rare it is
// in the owner's own rows, underlined where the question asks for it. Content is bound as text only.

export default {
  template: `
    <dl class="record">
      <template v-for="(attribute, row) in attributes" :key="attribute.name"><template v-if="attribute.parts.length">
        <dt>{{ attribute.name }}</dt>
        <dd dir="auto">
          <template v-for="(part, place) in attribute.parts" :key="place"
            ><button
              v-if="part.word"
              type="button"
              :class="classes(row, place)"
              :disabled="fixed"
              :title="title(part, row, place)"
              :aria-pressed="used(row, place)"
              @click="$emit('word', { word: part.word, attribute: attribute.name })"
            >{{ part.text }}</button
            ><span v-else>{{ part.text }}</span></template
          >
          <span v-if="attribute.prepared" class="record-prepared">asked as {{ attribute.prepared }}</span>
        </dd>
      </template></template>
    </dl>
    <details v-if="empty.length" class="record-folded"><summary>{{ empty.length }} empty {{ empty.length === 1 ? "attribute" : "attributes" }}</summary>{{ empty.join(", ") }}</details>
  `,
  props: { attributes: Array, fixed: Boolean, rarity: Array, asked: Array },
  emits: ["word"],
  computed: {
    empty() {
      return this.attributes.filter((attribute) => !attribute.parts.length).map((attribute) => attribute.name);
    },
  },
  methods: {
    known(row, place) {
      return this.rarity?.[row]?.[place] ?? null;
    },
    used(row, place) {
      return !!this.asked?.[row]?.[place];
    },
    classes(row, place) {
      const known = this.known(row, place);
      return ["record-word", known && `rare-${known.level}`, this.used(row, place) && "asked"];
    },
    title(part, row, place) {
      const known = this.known(row, place);
      const others = known ? `: in ${known.said}` : "";
      return `${this.used(row, place) ? "Take out" : "Ask for"} ${part.word}${others}`;
    },
  },
};
