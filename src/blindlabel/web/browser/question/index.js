// The question language as the editor shows it: colours, completion, help. Only appearance; the meaning is Python's.

import * as CM from "nicegui-codemirror";

const TOKENS = [
  ["comment", "#.*"],
  ["string", '"(?:\\\\.|[^"\\\\\\n])*"?'],
  ["variable", "\\$[\\p{L}_][\\p{L}\\p{N}_]*"],
  ["keyword", "\\b(?:ret|true|false)\\b"],
  ["function", "[\\p{L}_][\\p{L}\\p{N}_]*(?=\\s*\\()"],
  ["attribute", "(?<=\\.)[\\p{L}_][\\p{L}\\p{N}_]*"],
  ["number", "\\b\\d+(?:\\.\\d+)?"],
  ["operator", "[&|!+*=<>]+"],
];
const PATTERN = new RegExp(TOKENS.map(([, pattern]) => `(${pattern})`).join("|"), "gu");
const MARKS = TOKENS.map(([name]) => CM.Decoration.mark({ class: `question-${name}-token` }));

const decorator = new CM.MatchDecorator({
  regexp: PATTERN,
  decoration: (match) => MARKS[match.slice(1).findIndex((group) => group !== undefined)],
});

export const highlighting = CM.ViewPlugin.fromClass(
  class {
    constructor(view) {
      this.decorations = decorator.createDeco(view);
    }
    update(update) {
      this.decorations = decorator.updateDeco(update, this.decorations);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

export function languageData(autocomplete) {
  return { autocomplete, commentTokens: { line: "#" }, closeBrackets: { brackets: ["(", "[", '"'] } };
}

function helpOf(one) {
  const dom = document.createElement("div");
  dom.className = "question-help";
  for (const [tag, text] of [["strong", one.signature], ["p", one.summary], ["p", one.details], ["code", one.example]]) {
    if (!text) continue;
    const part = document.createElement(tag);
    part.textContent = text;
    dom.append(part);
  }
  return dom;
}

// A call with its first text in quotes and the cursor between them.
function insertCall(one) {
  return (view, _completion, from, to) => {
    const called = view.state.doc.sliceString(to, to + 1) === "(";
    const text = called ? one.name : one.template;
    const cursor = called ? from + text.length : from + one.cursor;
    view.dispatch({ changes: { from, to, insert: text }, selection: { anchor: cursor }, userEvent: "input.complete" });
  };
}

export function completions(context, { functions, keywords, attributes, words }) {
  const line = context.state.doc.lineAt(context.pos);
  const before = line.text.slice(0, context.pos - line.from);
  const quotes = before.replace(/\\./g, "  ").split('"').length - 1;
  if (quotes % 2) {
    const start = before.lastIndexOf('"') + 1;
    return { from: line.from + start, options: words.map((label) => ({ label, type: "text" })), validFor: /^[^"]*$/ };
  }
  const attribute = before.match(/\$[\p{L}\p{N}_]+\.([\p{L}\p{N}_]*)$/u);
  if (attribute) {
    const options = attributes.map((one) => ({ label: one.label, apply: applyAttribute(one), type: "property" }));
    return { from: context.pos - attribute[1].length, options, validFor: /^[\p{L}\p{N}_]*$/u };
  }
  const variable = before.match(/\$[\p{L}\p{N}_]*$/u);
  if (variable) {
    const set = [...context.state.doc.toString().matchAll(/\$[\p{L}_][\p{L}\p{N}_]*(?=\s*=)/gu)].map(([name]) => name);
    const names = [...new Set(["$r", ...set])].filter((name) => name !== variable[0]);
    const options = names.map((label) => ({ label, type: "variable", detail: label === "$r" ? "the other record" : "" }));
    return { from: context.pos - variable[0].length, options, validFor: /^\$[\p{L}\p{N}_]*$/u };
  }
  const word = before.match(/[\p{L}_][\p{L}\p{N}_]*$/u);
  if (!word && !context.explicit) return null;
  const calls = functions.map((one, place) => ({
    label: one.name,
    type: "function",
    detail: one.signature.slice(one.name.length),
    boost: functions.length - place,
    info: () => helpOf(one),
    apply: insertCall(one),
  }));
  const plain = keywords.map((label) => ({ label, type: "keyword" }));
  return { from: context.pos - (word ? word[0].length : 0), options: [...calls, ...plain], validFor: /^[\p{L}\p{N}_]*$/u };
}

// `.title`, or `["date of birth"]` in place of the dot.
function applyAttribute(one) {
  return (view, _completion, from, to) => {
    const start = one.access.startsWith("[") ? from - 1 : from;
    const text = one.access.startsWith("[") ? one.access : one.label;
    view.dispatch({ changes: { from: start, to, insert: text }, selection: { anchor: start + text.length }, userEvent: "input.complete" });
  };
}

export function hover(functionsOf) {
  return CM.hoverTooltip((view, position) => {
    const line = view.state.doc.lineAt(position);
    for (const match of line.text.matchAll(/[\p{L}_][\p{L}\p{N}_]*/gu)) {
      const from = line.from + match.index;
      if (from > position || position > from + match[0].length) continue;
      const one = functionsOf().find((known) => known.name === match[0]);
      if (one) return { pos: from, end: from + match[0].length, above: true, create: () => ({ dom: helpOf(one) }) };
    }
    return null;
  });
}
