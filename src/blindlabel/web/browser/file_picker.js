// Chooses files and hands them to the app: each is posted to the app's own address, and the tickets for them are emitted.

export default {
  template: `
    <label class="file-picker">
      <span>{{ label }}</span>
      <input type="file" multiple :accept="accept" @change="chosen" />
    </label>
  `,
  props: { label: String, accept: String },
  emits: ["chosen"],
  methods: {
    async chosen(event) {
      const tickets = [];
      for (const file of event.target.files) {
        const answer = await fetch(`/upload?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
        const told = await answer.text();
        if (!answer.ok) return this.$emit("chosen", { tickets: [], problem: told });
        tickets.push(told);
      }
      event.target.value = "";
      this.$emit("chosen", { tickets, problem: "" });
    },
  },
};
