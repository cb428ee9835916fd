// Tables of text, lists of cases, and links to sources.

// Maximum number of links in a list.
const MOST_LISTED = 400;

function listing(caption, heads, rows) {
  const box = table(caption, heads, rows);
  box.classList.add("listing");
  return box;
}

// A table that becomes a list on a narrow screen; each cell then shows its header, which is in `data-head`.
function stacking(caption, heads, rows) {
  const box = listing(caption, heads, rows);
  box.classList.add("stacking");
  return box;
}

function caseLink(number, subject = null) {
  const one = CASE_BY_NUMBER[number];
  return el("a", { href: caseAddress(NO_FILTER, one, subject), title: one.title }, el("code", {}, one.id));
}

// The number of cases, with a list that opens.
function caseList(numbers, subject = null) {
  if (!numbers.length) return "none";
  if (numbers.length === 1) return caseLink(numbers[0], subject);
  return later(plural(numbers.length, "case"), () => [
    el("ul", {}, numbers.slice(0, MOST_LISTED).map((number) => el("li", {}, caseLink(number, subject)))),
    beyond(numbers),
  ]);
}

// What is drawn when it is opened, and not before.
function later(summary, draw) {
  const box = el("details", {}, el("summary", {}, summary));
  box.addEventListener("toggle", () => {
    if (box.open && box.childNodes.length === 1) box.append(...[draw()].flat(Infinity).filter(Boolean));
  });
  return box;
}

function beyond(rows) {
  return rows.length > MOST_LISTED && nothing(`and ${rows.length - MOST_LISTED} more`);
}

function verdictWord(verdict) {
  return el("span", { class: `verdict v-${verdict}` }, glyph(verdict), verdict);
}

function nothing(text) {
  return el("p", { class: "muted" }, text);
}

// Links for sources of clauses, issues and findings; other text stays text.

const OPERATORS = "https://onnx.ai/onnx/operators/";
const GITHUB = "https://github.com/";

// Pairs of a pattern and the function that makes the address from its match.
const PASSAGES = [
  [/https:\/\/[^\s<>"]*[^\s<>".,;)]/, ([address]) => address],
  [/ai\.onnx((?:\.[a-z]+)*) ([A-Z]\w*)-\d+/, ([, domain, operator]) => `${OPERATORS}onnx_${domain ? `aionnx${domain.replaceAll(".", "")}` : ""}_${operator}.html`],
  [/onnx\/optimizer, (\w+\.h)/, ([, file]) => `${GITHUB}onnx/optimizer/blob/HEAD/onnxoptimizer/passes/${file}`],
  [/ONNX IR/, () => `${GITHUB}onnx/onnx/blob/HEAD/docs/IR.md`],
  [/([\w-]+\/[\w.-]+)#(\d+)/, ([, repository, issue]) => `${GITHUB}${repository}/issues/${issue}`],
];
const PASSAGE = new RegExp(PASSAGES.map(([what]) => `(?:${what.source})`).join("|"), "g");

function source(text) {
  const nodes = [];
  let from = 0;
  for (const { 0: found, index } of text.matchAll(PASSAGE)) {
    nodes.push(text.slice(from, index), el("a", { href: addressOf(found), rel: "noreferrer noopener" }, found));
    from = index + found.length;
  }
  return [...nodes, text.slice(from)];
}

function addressOf(passage) {
  for (const [what, address] of PASSAGES) {
    const parts = new RegExp(`^(?:${what.source})$`).exec(passage);
    if (parts) return address(parts);
  }
  return null;
}
