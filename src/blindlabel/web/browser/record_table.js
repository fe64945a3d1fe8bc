// The list of records: a plain table whose rows, order and pages Python decides. Content is bound as text only.

export default {
  template: `
    <div class="records-scroll" tabindex="0" role="region" :aria-label="label">
      <table class="records">
        <colgroup><col v-for="column in columns" :key="column.name" :style="{ width: column.width }" /></colgroup>
        <thead>
          <tr>
            <th v-for="column in columns" :key="column.name" scope="col" :aria-sort="sorted(column)">
              <button v-if="column.sortable" type="button" @click="$emit('sort', column.name)"
                >{{ column.label }}<span aria-hidden="true">{{ arrow(column) }}</span></button
              ><span v-else>{{ column.label }}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          <tr v-for="row in rows" :key="row.record" @click="$emit('open', row.record)">
            <td v-for="column in columns" :key="column.name" :class="'cell-' + column.kind">
              <span v-if="column.kind === 'state'" :class="'state state-' + row.state">{{ row.state }}</span>
              <span v-else-if="column.kind === 'verdict'" :class="row.level ? 'chip chip-' + row.level : ''">{{ row.verdict }}</span>
              <button v-else-if="column.kind === 'id'" type="button" class="row-open" :title="row.id" @click.stop="$emit('open', row.record)"
                >{{ row.id }}</button
              ><span v-else-if="column.kind === 'again'">{{ row.disagreed }}</span>
              <span v-else-if="column.kind === 'asked' || column.kind === 'writer'">{{ row[column.kind] }}</span>
              <span v-else-if="column.kind === 'mark'" :title="row.note">{{ (row.unsure ? 'not sure' : '') + (row.note ? ' ✎' : '') }}</span>
              <span v-else dir="auto" :title="row.values[column.place]">{{ row.values[column.place] }}</span>
            </td>
          </tr>
        </tbody>
      </table>
      <p class="records-empty">{{ !rows.length ? empty : page < pages ? "The list goes on on the next page." : "End of the list." }}</p>
    </div>
    <nav class="pages" aria-label="Pages" v-if="pages > 1">
      <button type="button" :disabled="page <= 1" @click="$emit('page', page - 1)">Previous page</button>
      <span>Page {{ page.toLocaleString("en") }} of {{ pages.toLocaleString("en") }}</span>
      <button type="button" :disabled="page >= pages" @click="$emit('page', page + 1)">Next page</button>
    </nav>
  `,
  props: {
    columns: Array, rows: Array, sort: String, descending: Boolean, page: Number, pages: Number, empty: String, label: String,
  },
  emits: ["open", "sort", "page"],
  methods: {
    sorted(column) {
      return column.name !== this.sort ? null : this.descending ? "descending" : "ascending";
    },
    arrow(column) {
      return column.name !== this.sort ? "" : this.descending ? " ↓" : " ↑";
    },
  },
};
