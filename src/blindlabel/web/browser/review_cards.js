// Questions for many records, one card each: the whole record with hits, the question in one line, the verdict. A question that fits
// only its own record is chosen by itself once its card has stood on the screen for a while, and nothing else is: what is only
// scrolled past is not. J and K move, space chooses, E opens for editing, enter accepts. Content is bound as text only.

const SEEN = 1500; // milliseconds that a card stands there before it counts as seen

export default {
  template: `
    <div class="cards" role="region" aria-label="Questions" tabindex="0" ref="scroll">
      <article v-for="(card, place) in cards" :key="card.record" :aria-label="'Record ' + card.id" :class="['card', { current: place === at }]" :ref="(element) => (places[place] = element)" @click="at = place">
        <div class="card-head">
          <label><input type="checkbox" :checked="isChosen(card)" @change="choose(card, $event.target.checked)" @click.stop
            /> <strong>{{ card.id }}</strong></label>
          <span><span :class="'chip chip-' + card.level">{{ card.verdict }}</span>
            <button type="button" class="card-edit" :aria-label="'Edit ' + card.id" @click.stop="$emit('edit', card.record)">Edit</button></span>
        </div>
        <p class="card-record"><span v-for="attribute in card.attributes" :key="attribute.name" class="evidence-value" dir="auto"
          ><span class="evidence-name">{{ attribute.name }}</span
          ><template v-for="(part, index) in attribute.parts" :key="index"
            ><mark v-if="part.hit">{{ part.text }}</mark><span v-else>{{ part.text }}</span></template
          ><span v-if="attribute.raw" class="evidence-raw"> ({{ attribute.raw }})</span></span></p>
        <p class="card-question">{{ card.summary }}</p>
        <span class="card-end" :data-place="place"></span>
      </article>
    </div>
  `,
  props: { cards: Array, edition: Number },
  emits: ["chosen", "accept", "edit"],
  data: () => ({ at: 0, chosen: {}, places: [] }),
  mounted() {
    this.onKey = (event) => this.key(event);
    document.addEventListener("keydown", this.onKey, true);
    this.watchEnds();
  },
  beforeUnmount() {
    document.removeEventListener("keydown", this.onKey, true);
    this.ends?.disconnect();
  },
  watch: {
    edition() {
      this.at = 0;
      this.chosen = {};
      this.tell();
      this.$nextTick(() => this.watchEnds());
    },
  },
  methods: {
    isChosen(card) {
      return this.chosen[card.record] === true;
    },
    choose(card, yes) {
      this.chosen = { ...this.chosen, [card.record]: yes };
      this.tell();
    },
    tell() {
      this.$emit("chosen", Object.keys(this.chosen).filter((record) => this.chosen[record]).map(Number));
    },
    watchEnds() {
      this.ends?.disconnect();
      this.ends = new IntersectionObserver((entries) => {
        for (const entry of entries) {
          const card = this.cards[Number(entry.target.dataset.place)];
          clearTimeout(entry.target.seen);
          if (!card || !entry.isIntersecting || card.level !== "good") continue;
          entry.target.seen = setTimeout(() => this.places.length && !(card.record in this.chosen) && this.choose(card, true), SEEN);
        }
      }, { root: this.$refs.scroll, threshold: 1 });
      for (const end of this.$el.querySelectorAll(".card-end")) this.ends.observe(end);
    },
    go(step) {
      this.at = Math.max(0, Math.min(this.cards.length - 1, this.at + step));
      this.places[this.at]?.scrollIntoView({ block: "nearest" });
    },
    key(event) {
      if (!this.cards.length || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target.closest?.("textarea, input:not([type=checkbox]), select, button")) return;
      if (!this.$el.closest(".q-dialog")) return;
      const letter = event.key.toLowerCase();
      if (letter === "j") this.go(1);
      else if (letter === "k") this.go(-1);
      else if (event.key === " ") this.choose(this.cards[this.at], !this.isChosen(this.cards[this.at]));
      else if (event.key === "Enter") this.$emit("accept");
      else if (letter === "e") this.$emit("edit", this.cards[this.at].record);
      else return;
      event.preventDefault();
      event.stopPropagation();
    },
  },
};
