// Where a clause's source, an issue or a finding can be read. Whatever is no address known here stays text.

const OPERATORS = "https://onnx.ai/onnx/operators/";
const GITHUB = "https://github.com/";

// [what is recognized in a text, the address that its parts make]
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
