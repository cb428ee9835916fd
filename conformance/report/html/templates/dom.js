// Building nodes. Text only ever becomes a text node, whatever is in it.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

function el(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

function svg(tag, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

// A table with a caption for those who cannot see where it stands, in a box that scrolls when it is too wide.
function table(caption, heads, rows) {
  return scrolling(caption, {}, el("table", {},
    el("thead", {}, el("tr", {}, heads.map(columnHead))),
    el("tbody", {}, rows)));
}

// What needs no name has no head, and an empty one is none.
function columnHead(head) {
  return head === "" ? el("td") : el("th", { scope: "col" }, head);
}

function tr(cells, properties = {}) {
  return el("tr", properties, cells.map((cell) => el("td", {}, cell)));
}

function glyph(verdict) {
  return el("span", { class: `glyph g-${verdict}`, "aria-hidden": "true" });
}

// A name that may be broken where its parts meet, so that it is not broken elsewhere.
function breakable(name) {
  return name.split(/(?<=[.:/])/).flatMap((part, at) => (at ? [el("wbr"), part] : [part]));
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
