// The editor for questions: a component over the CodeMirror that NiceGUI carries, with our language, completion, help on hovering, marks
// at what is wrong, and a copy of unsaved text in the tab's own storage. What is right or wrong is decided in Python; nothing here
// interprets a question, and texts are only ever put in as text.

import * as CM from "nicegui-codemirror";
import { completions, highlighting, hover, languageData } from "blindlabel-question";

const setFindings = CM.StateEffect.define();

const findings = CM.StateField.define({
  create: () => ({ list: [], marks: CM.Decoration.none }),
  update(value, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setFindings)) return { list: effect.value, marks: marksOf(effect.value) };
    }
    if (!transaction.docChanged) return value;
    const list = value.list.map((one) => ({
      ...one,
      from: transaction.changes.mapPos(one.from, 1),
      to: transaction.changes.mapPos(one.to, -1),
    }));
    return { list: list.filter((one) => one.from <= one.to), marks: value.marks.map(transaction.changes) };
  },
  provide: (field) => CM.EditorView.decorations.from(field, (value) => value.marks),
});

function marksOf(list) {
  const marks = list
    .filter((one) => one.to > one.from)
    .map((one) => CM.Decoration.mark({ class: `question-${one.severity}` }).range(one.from, one.to));
  return CM.Decoration.set(marks, true);
}

class FindingMarker extends CM.GutterMarker {
  constructor(severity) {
    super();
    this.severity = severity;
  }
  eq(other) {
    return other.severity === this.severity;
  }
  toDOM() {
    const dot = document.createElement("span");
    dot.className = `question-dot question-dot-${this.severity}`;
    dot.title = this.severity;
    return dot;
  }
}

const findingGutter = CM.gutter({
  class: "question-gutter",
  lineMarker(view, line) {
    const here = view.state.field(findings).list.filter((one) => one.from >= line.from && one.from <= line.to);
    if (!here.length) return null;
    return new FindingMarker(here.some((one) => one.severity === "error") ? "error" : "warning");
  },
  lineMarkerChange: (update) => update.startState.field(findings) !== update.state.field(findings),
});

const findingHover = CM.hoverTooltip((view, position) => {
  const here = view.state.field(findings).list.find((one) => one.from <= position && position <= one.to);
  if (!here) return null;
  return {
    pos: here.from,
    end: here.to,
    above: true,
    create() {
      const dom = document.createElement("div");
      dom.className = "question-tooltip";
      dom.textContent = here.hint ? `${here.message} ${here.hint}` : here.message;
      return { dom };
    },
  };
});

// Python counts code points, CodeMirror UTF-16 units.
function utf16Offsets(text) {
  if (!/[\uD800-\uDBFF]/.test(text)) return (index) => Math.min(index, text.length);
  const units = [0];
  for (const character of text) units.push(units[units.length - 1] + character.length);
  return (index) => units[Math.min(index, units.length - 1)];
}

// The framework puts every open dialog into an element of its own behind the page.
function dialogIsOpen() {
  return document.querySelector('[id^="q-portal--dialog"]') !== null;
}

// A key as the page writes it: "N", "Ctrl+Enter", "Alt+G". Ctrl is Cmd, too; with Alt a letter is known by its place, since a Mac writes
// another one then. While a person types in a field, such a letter is a letter and no key of ours.
function isPressed(event, key, typing) {
  const [name, held] = key.split("+").reverse();
  if (held === "Alt") {
    if (!event.altKey || (typing && event.key.toLowerCase() !== name.toLowerCase())) return false;
    return event.code === `Key${name}` || event.code === `Digit${name}`;
  }
  return (event.ctrlKey || event.metaKey) === (held === "Ctrl") && !event.altKey && event.key.toLowerCase() === name.toLowerCase();
}

const JUMPS = { search: ".search-field", words: ".record-word", question: ".points-new, .cm-content", verdict: ".verdict" };
const QUIET = 10; // milliseconds without a key before a text is sent
const LONGEST = 200; // and at most so long while keys keep coming
const STORE = "blindlabel-unsaved:";
// What is off while the app cannot be reached. The text of a question can be written on: it is kept in the tab.
const OFF = ".help, .round-actions, .record-list, .standing, .annotation-nav, .own, .overtaken, .choices, .evidence-pane, .views, .points, .findings, .actions, .q-dialog";

export default {
  template: `<div class="question-editor"></div>`,
  props: { functions: Array, keywords: Array, attributes: Array, label: String, keys: Object, listKeys: Object, annotating: Boolean, awaited: Number },
  emits: ["change", "action", "ask"],
  mounted() {
    this.key = "";
    this.serial = 0;
    this.version = 0;
    this.replaced = 0;
    this.words = [];
    this.dirty = false;
    this.data = [languageData((context) => completions(context, this))]; // one object: CodeMirror knows a source by its identity
    this.view = new CM.EditorView({ state: this.fresh(""), parent: this.$el });
    this.onKey = (event) => this.pageKey(event);
    this.onLeave = () => this.flush();
    document.addEventListener("keydown", this.onKey);
    document.addEventListener("visibilitychange", this.onLeave);
    this.onHistory = () => this.$emit("ask", { name: "go", detail: new URLSearchParams(location.search).get("record") ?? "" });
    window.addEventListener("popstate", this.onHistory);
    // While a dialog is open, nothing behind it can be reached, by keyboard or by reading aloud.
    this.dialogs = new MutationObserver(() => {
      document.getElementById("app").inert = dialogIsOpen();
    });
    this.dialogs.observe(document.body, { childList: true });
    // The framework shows an element of its own while the connection is lost; we say it in our words instead.
    const lost = document.getElementById("popup");
    this.connection = new MutationObserver(() => this.setAway(lost.ariaHidden === "false"));
    this.connection.observe(lost, { attributes: true });
    const head = document.querySelector(".head"); // what stays in view stays below it
    this.heads = new ResizeObserver(() => document.documentElement.style.setProperty("--head", `${head.offsetHeight}px`));
    this.heads.observe(head);
  },
  beforeUnmount() {
    this.dialogs.disconnect();
    this.connection.disconnect();
    this.heads.disconnect();
    document.removeEventListener("keydown", this.onKey);
    document.removeEventListener("visibilitychange", this.onLeave);
    window.removeEventListener("popstate", this.onHistory);
    this.view.destroy();
  },
  watch: {
    // A record is shown a moment before its text is here. What is typed until then belongs to it.
    awaited() {
      if (!this.isEarly()) return;
      this.flush();
      this.view.setState(this.fresh(""));
    },
  },
  methods: {
    isEarly() {
      return this.awaited > this.serial;
    },
    fresh(text) {
      return CM.EditorState.create({
        doc: text,
        selection: { anchor: text.length },
        extensions: [
          CM.Prec.highest(CM.EditorView.domEventHandlers({ keydown: (event) => this.pageKey(event) })),
          CM.EditorView.domEventHandlers({ mousemove: (event) => void (this.pointer = event), mouseleave: () => void (this.pointer = null) }),
          CM.Prec.highest(CM.keymap.of([{ key: "Tab", run: (view) => this.takeCompletion(view) }])),
          CM.basicSetup,
          CM.EditorView.lineWrapping,
          CM.placeholder('What must the other record say? Click words of your record, or type:  ret is_in("…", $r)'),
          CM.EditorView.contentAttributes.of({ "aria-label": this.label, spellcheck: "false", autocapitalize: "off" }),
          CM.EditorState.readOnly.of(!!this.fixed),
          CM.EditorState.languageData.of(() => this.data),
          highlighting,
          hover(() => this.functions),
          findings,
          findingGutter,
          findingHover,
          CM.EditorView.updateListener.of((update) => update.docChanged && this.changed()),
        ],
      });
    },
    // Called from Python

    load(key, serial, text, words, fixed, list) {
      const early = this.isEarly() && !fixed ? this.view.state.doc.toString() : "";
      this.flush();
      this.fixed = fixed;
      this.words = words;
      this.key = key;
      this.serial = serial;
      this.version += 1;
      this.dirty = false;
      this.overtaken = false;
      const stored = fixed ? null : JSON.parse(sessionStorage.getItem(STORE + key));
      const unsaved = stored?.text ?? text;
      this.mine = [text];
      this.view.setState(this.fresh(unsaved));
      if (unsaved === text) this.show(this.version, list);
      else {
        this.overtaken = !stored.mine.includes(text); // somebody else wrote while this tab was away
        this.changed();
      }
      if (early) this.view.dispatch({ changes: { from: unsaved.length, insert: early }, selection: { anchor: unsaved.length + early.length }, userEvent: "input" });
    },
    replace(text, quietly, number) {
      this.replaced = number;
      if (text === this.view.state.doc.toString()) return this.$emit("change", this.now());
      this.view.dispatch({
        changes: { from: 0, to: this.view.state.doc.length, insert: text },
        selection: { anchor: text.length },
        userEvent: "input",
        scrollIntoView: true,
        annotations: CM.isolateHistory.of("full"),
      });
      if (!quietly) this.view.focus();
    },
    undo() {
      CM.undo(this.view);
    },
    redo() {
      CM.redo(this.view);
    },
    // The completion that is marked, where there is one; CodeMirror offers the key but not the command.
    takeCompletion(view) {
      if (!document.querySelector(".cm-tooltip-autocomplete li[aria-selected]")) return false;
      return CM.runScopeHandlers(view, new KeyboardEvent("keydown", { key: "Enter", code: "Enter", keyCode: 13 }), "editor");
    },
    insert(expression) {
      const { from, to } = this.view.state.selection.main;
      const spaced = /(^|[\s(])$/.test(this.view.state.doc.sliceString(0, from));
      const text = spaced ? expression : ` ${expression}`;
      this.view.dispatch({
        changes: { from, to, insert: text },
        selection: { anchor: from + text.length },
        userEvent: "input",
        scrollIntoView: true,
      });
      this.view.focus();
    },
    show(version, list) {
      if (version !== this.version) return;
      const text = this.view.state.doc.toString();
      const at = utf16Offsets(text);
      const placed = list.map((one) => {
        let from = at(one.start);
        let to = Math.max(at(one.end), from);
        if (to === from && from > 0 && from >= text.length) from -= 1;
        return { ...one, from, to: Math.min(Math.max(to, from + 1), text.length) };
      });
      this.view.dispatch({ effects: setFindings.of(placed) });
      const rests = this.pointer; // on a word that has just been drawn anew: its help would be lost
      if (rests && !rests.target.isConnected) document.elementFromPoint(rests.clientX, rests.clientY)?.dispatchEvent(new MouseEvent("mousemove", rests));
    },
    kept(key, version) {
      if (key !== this.key || version !== this.version) return;
      sessionStorage.removeItem(STORE + key);
      this.mine = [this.view.state.doc.toString()];
    },
    go(start) {
      this.view.dispatch({ selection: { anchor: utf16Offsets(this.view.state.doc.toString())(start) }, scrollIntoView: true });
      this.view.focus();
    },
    // The first that can be seen: the question is in one of its two views.
    focusElement(selector) {
      [...document.querySelectorAll(selector)].find((one) => one.checkVisibility())?.focus();
    },

    // Out to Python

    changed() {
      if (this.isEarly()) return;
      this.version += 1;
      this.dirty = true;
      sessionStorage.setItem(STORE + this.key, JSON.stringify({ text: this.view.state.doc.toString(), mine: this.mine }));
      clearTimeout(this.quiet);
      this.quiet = setTimeout(() => this.flush(), QUIET);
      this.latest ??= setTimeout(() => this.flush(), LONGEST);
    },
    flush() {
      clearTimeout(this.quiet);
      clearTimeout(this.latest);
      this.latest = undefined;
      if (!this.dirty) return;
      this.dirty = false;
      const now = this.now();
      this.mine.push(now.text); // one of these is what the app has
      this.$emit("change", now);
      this.overtaken = false; // it has been told
    },
    now() {
      return { key: this.key, serial: this.serial, text: this.view.state.doc.toString(), version: this.version, overtaken: this.overtaken, replaced: this.replaced };
    },
    setAway(away) {
      if (this.away && !away) this.$emit("ask", { name: "", detail: "" }); // what was asked for may have been lost on the way
      this.away = away;
      document.body.classList.toggle("is-away", away);
      for (const one of document.querySelectorAll(OFF)) one.inert = away;
    },
    act(name, detail) {
      this.flush();
      if (JUMPS[name]) this.focusElement(JUMPS[name]);
      this.$emit("action", { name, detail, ...this.now() });
    },
    // Whether a key meant one of our actions. It is told to Python, which answers with `act`: what was shown or clicked before is in the text by then.
    // In the list the keys of a record are told, too: it may be one that is about to be shown.
    pageKey(event) {
      if (event.defaultPrevented || event.repeat || dialogIsOpen()) return false;
      const writing = !!event.target.closest?.("input, textarea, select, [contenteditable=true]");
      const keys = this.annotating || writing ? this.keys : { ...this.listKeys, ...this.keys };
      const letter = event.key.toLowerCase();
      if (this.annotating && !writing && !this.fixed && (event.ctrlKey || event.metaKey) && (letter === "z" || letter === "y")) {
        event.preventDefault();
        return letter === "y" || event.shiftKey ? CM.redo(this.view) : CM.undo(this.view);
      }
      const name = Object.keys(keys).find((action) => isPressed(event, keys[action], writing));
      if (!name) return false;
      event.preventDefault();
      if (JUMPS[name] && (this.annotating || name === "search")) this.focusElement(JUMPS[name]); // at once, so that what is typed next goes there
      else if (!this.away) this.$emit("ask", { name, detail: "" });
      return true;
    },
  },
};
