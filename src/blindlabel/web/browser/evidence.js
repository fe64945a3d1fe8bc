// Own rows that a question fits, with what it found in them marked. Content is bound as text only.

export default {
  template: `
    <ul class="evidence" v-if="rows.length" tabindex="0">
      <li v-for="(row, number) in rows" :key="row.id + number">
        <button v-if="action" type="button" class="evidence-action" :aria-label="action + ': ' + row.id"
          @click="$emit('act', number)">{{ action }}</button>
        <strong>{{ row.id }}</strong>
        <span v-for="attribute in row.attributes" :key="attribute.name" class="evidence-value" dir="auto"
          ><span class="evidence-name">{{ attribute.name }}</span
          ><template v-for="(part, place) in attribute.parts" :key="place"
            ><mark v-if="part.hit">{{ part.text }}</mark><span v-else>{{ part.text }}</span></template></span>
      </li>
    </ul>
    <p v-if="more" class="quiet">{{ more }}</p>
  `,
  props: { rows: Array, more: String, action: String },
};
