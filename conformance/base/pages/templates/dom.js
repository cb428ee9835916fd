// Functions that create nodes. Text always becomes a text node, so that it cannot become markup.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, READ.has(name) ? printable(value) : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false).map(printable));
  return node;
}

// The attributes that a browser shows or reads out.
const READ = new Set(["title", "aria-label"]);

// As in `printable_text.py`: characters that are invisible, or that change the direction of text; and lone surrogates.
const UNPRINTABLE = /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ud800-\udfff\ufeff\ufff0-\uffff\u{e0000}-\u{10ffff}]/gu;

// A text in which unprintable characters are replaced by escapes; other values are unchanged.
function printable(value) {
  return typeof value === "string" ? value.replace(UNPRINTABLE, (each) => escaped(each.codePointAt(0))) : value;
}

function escaped(code) {
  const [mark, digits] = code < 2 ** 8 ? ["x", 2] : code < 2 ** 16 ? ["u", 4] : ["U", 8];
  return `\\${mark}${code.toString(16).padStart(digits, "0")}`;
}

function el(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

function svg(tag, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

// A table in a box that scrolls if the table is too wide. Screen readers read the caption.
function table(caption, heads, rows) {
  return scrolling(caption, {}, el("table", {},
    el("thead", {}, el("tr", {}, heads.map(columnHead))),
    el("tbody", {}, rows)));
}

// A column without a name has no header cell.
function columnHead(head) {
  return head === "" ? el("td") : el("th", { scope: "col" }, head);
}

function tr(cells, properties = {}) {
  return el("tr", properties, cells.map((cell) => el("td", {}, cell)));
}

function glyph(verdict) {
  return el("span", { class: `glyph g-${verdict}`, "aria-hidden": "true" });
}

// A name that the browser may break after ":", "/" and ",", before "@" and "[", and after the "." of a package, but not in a version.
function breakable(name) {
  return name.split(/(?<=[:/,])|(?<=\.)(?=[A-Za-z_])|(?=[@[])/).flatMap((part, at) => (at ? [el("wbr"), part] : [part]));
}

function plural(count, one, many = `${one}s`) {
  return `${count} ${count === 1 ? one : many}`;
}

function sentence(text) {
  return text[0].toUpperCase() + text.slice(1);
}

function ended(text) {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

// Boxes that scroll if their content is wider than the page; CSS marks them.

const widths = new ResizeObserver((entries) => {
  for (const box of new Set(entries.map(({ target }) => target.closest(".scroll")))) noteWidth(box);
});

function scrolling(caption, properties, child) {
  const box = el("div", { ...properties, class: `scroll ${properties.class ?? ""}`.trim(), tabindex: 0, role: "group", "aria-label": caption }, child);
  widths.observe(box);
  widths.observe(child);
  box.addEventListener("scroll", () => noteWidth(box), { passive: true });
  return box;
}

function noteWidth(box) {
  const more = box.scrollWidth - box.clientWidth;
  box.classList.toggle("wide", more > 1);
  box.classList.toggle("cut", more - box.scrollLeft > 1);
}

// Text with a button that copies it.

// Milliseconds for which the button shows the outcome.
const COPIED_SHOWN = 2000;

function copyable(text, what) {
  const button = el("button", { type: "button", class: "chip copy", "aria-label": `Copy ${what}` }, "Copy");
  button.addEventListener("click", async () => {
    button.textContent = (await copy(text)) ? "Copied" : "Not allowed";
    setTimeout(() => {
      button.textContent = "Copy";
    }, COPIED_SHOWN);
  });
  return button;
}

function command(text, what = "the command") {
  return el("span", { class: "copyable" }, el("code", { class: "command" }, text), " ", copyable(text, what));
}

// A document that was not served over HTTPS has no clipboard, but the browser can copy its selection.
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = el("textarea", { readonly: true, class: "unseen" });
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}
