// A question as points: a line a condition, with its points, function, words, field and how rare it is; the bar as a slider;
// what is excluded, and unless. Every change goes to Python, which writes the question; content is bound as text only.

const QUIET = 350; // milliseconds after the last key before words are taken over

export default {
  template: `
    <section class="points" aria-label="Points" @keydown="key">
      <p v-if="problem" class="points-problem">{{ problem }}</p>
      <template v-else>
        <p v-if="!conditions.length" class="points-empty">No condition yet. Click words of your record, type one below, or ask for a suggestion.</p>
        <table v-else class="points-table">
          <thead><tr><th scope="col">Points</th><th scope="col">The other record</th><th scope="col">Words</th><th scope="col">Where</th><th scope="col">Other rows</th><th><span class="unseen">Remove</span></th></tr></thead>
          <tbody>
            <tr v-for="(line, place) in conditions" :key="place">
              <td><input class="points-number" type="number" min="1" max="9" :value="line.points" :disabled="fixed"
                :aria-label="'Points of ' + name(line)" @input="number($event, 'points', place)" /></td>
              <template v-if="line.words !== null">
                <td><select :value="line.function" :disabled="fixed" :aria-label="'How to look for ' + line.words" @change="change(place, line, { function: $event.target.value })">
                  <option v-for="one in offered(line)" :key="one.name" :value="one.name">{{ one.label }}</option></select></td>
                <td><input class="points-words" type="text" :list="listName" :value="editing === place ? typed : line.words" :disabled="fixed"
                  :aria-label="'Words of condition ' + (place + 1)" @input="write(place, line, $event)" @blur="commit" @keydown.enter.exact.prevent="commit" /></td>
                <td><select :value="line.field" :disabled="fixed" :aria-label="'Where to look for ' + line.words" @change="change(place, line, { field: $event.target.value })">
                  <option v-for="one in fields" :key="one" :value="one">{{ one || "anywhere" }}</option></select></td>
              </template>
              <td v-else colspan="3" class="code">{{ line.text }}</td>
              <td class="points-others" :title="line.why">{{ rows(line) }}</td>
              <td><button type="button" class="cross" :disabled="fixed" :aria-label="'Remove ' + name(line)" @click="$emit('edit', { kind: 'remove', place })">×</button></td>
            </tr>
          </tbody>
        </table>
        <div v-if="conditions.length > 1 || bar > 1" class="points-bar">
          <label><span>Enough: <strong>{{ bar }}</strong> of {{ total }} points</span>
            <input type="range" min="1" :max="total" :value="bar" :disabled="fixed" :aria-valuetext="bar + ' of ' + total + ' points'" @input="number($event, 'bar', 0)" /></label>
          <span v-if="!fixed" class="points-follows">{{ follows ? "follows the points" : "stays when words change" }}
            <button v-if="!follows" type="button" @click="$emit('edit', { kind: 'follow' })">Let it follow</button></span>
        </div>
        <p v-if="enough.length" class="points-enough">{{ enough.length === 1 ? "This alone is enough:" : "Each of these alone is enough:" }} {{ enough.join(", ") }}</p>
        <p v-if="exclusions.length" class="points-not"><span>But not:</span>
          <span v-for="(line, place) in exclusions" :key="place" class="points-chip">{{ line.summary }}
            <button type="button" class="cross" :disabled="fixed" :aria-label="'No longer exclude ' + line.summary" @click="$emit('edit', { kind: 'include-not', place })">×</button></span></p>
        <p v-if="unless.length" class="points-not"><span>Unless:</span>
          <span v-for="(line, place) in unless" :key="place" class="points-chip points-unless">{{ line.summary }}
            <button type="button" class="cross" :disabled="fixed" :aria-label="'No longer unless ' + line.summary" @click="$emit('edit', { kind: 'drop-unless', place })">×</button></span></p>
        <form v-if="!fixed" class="points-add" @submit.prevent="add('add')">
          <input type="text" class="points-new" :list="listName" v-model="fresh" aria-label="Words to ask for" placeholder="A word or phrase of the other record" />
          <button type="submit">Add</button>
          <button v-if="mayExclude" type="button" @click="add('exclude')">But not</button>
          <button v-if="mayUnless && exclusions.length" type="button" @click="add('unless')">Unless</button>
        </form>
        <p v-if="offer && !fixed" class="points-problem" role="alert">{{ offer.said }}
          <button type="button" @click="$emit('edit', { kind: offer.kind, words: offer.words, field: offer.field, apart: true })">{{ offer.button }}</button></p>
      </template>
      <datalist :id="listName"><option v-for="word in words" :key="word" :value="word"></option></datalist>
    </section>
  `,
  props: {
    conditions: Array, exclusions: Array, unless: Array, bar: Number, total: Number, enough: Array, functions: Array, fields: Array, words: Array,
    fixed: Boolean, problem: String, mayExclude: Boolean, mayUnless: Boolean, follows: Boolean, offer: Object, record: String,
  },
  emits: ["edit", "undo"],
  data: () => ({ editing: null, typed: "", fresh: "", left: {}, listName: `words-${Math.random().toString(36).slice(2)}` }),
  watch: {
    // What stands in a field belongs to the record at which it was typed.
    record(now, before) {
      this.left[before] = this.fresh;
      this.fresh = this.left[now] ?? "";
      this.editing = null;
    },
  },
  methods: {
    name(line) {
      return line.words ?? line.text;
    },
    rows(line) {
      return line.others === null ? "…" : line.others === 0 ? "none" : line.others.toLocaleString("en");
    },
    offered(line) {
      return this.functions.some((one) => one.name === line.function)
        ? this.functions
        : [{ name: line.function, label: line.function }, ...this.functions];
    },
    number(event, kind, place) {
      const value = parseInt(event.target.value, 10);
      if (Number.isFinite(value)) this.$emit("edit", { kind, place, value });
    },
    change(place, line, what) {
      const { function: name, words, field } = line;
      this.$emit("edit", { kind: "change", place, function: name, words, field, ...what });
    },
    write(place, line, event) {
      if (this.editing !== null && this.editing !== place) this.commit();
      this.editing = place;
      this.typed = event.target.value;
      this.line = line;
      clearTimeout(this.quiet);
      this.quiet = setTimeout(() => this.send(), QUIET);
    },
    send() {
      clearTimeout(this.quiet);
      if (this.editing !== null && this.typed.trim() && this.typed !== this.line.words) {
        this.change(this.editing, this.line, { words: this.typed });
      }
    },
    commit() {
      this.send();
      this.editing = null;
    },
    add(kind) {
      if (!this.fresh.trim()) return;
      this.$emit("edit", { kind, words: this.fresh.trim() });
      this.fresh = "";
    },
    key(event) {
      if (event.altKey) this.send(); // before another record is shown
      if ((event.ctrlKey || event.metaKey) && ["Enter", "s"].includes(event.key)) {
        this.commit(); // saving saves what stands in the fields, too
        this.add("add");
      }
      const letter = event.key.toLowerCase();
      if (!(event.ctrlKey || event.metaKey) || event.altKey || (letter !== "z" && letter !== "y")) return;
      if (this.fresh || this.editing !== null) return; // the field's own undo
      event.preventDefault();
      this.$emit("undo", letter === "y" || event.shiftKey ? "redo" : "undo");
    },
  },
};
