// The graph of a model as a drawing: inputs on the left, each node to the right of its inputs, outputs on the right.

// Pixels: width of a letter, height of a port of a node, height of an input or output, vertical gap between boxes.
const LETTER = 7.3;
const PORT = 20;
const PILL = 24;
const GAP = 10;

function drawGraph(model) {
  const { boxes, edges } = connected(model);
  const layers = layered(boxes, edges);
  place(layers, edges);
  const width = Math.max(...boxes.map((box) => box.x + box.width)) + 1;
  const height = Math.max(...boxes.map((box) => box.y + box.height)) + 1;
  const says = `Graph: ${model.nodes.map((node) => `${node.op_type} reads ${node.inputs.filter(Boolean).join(", ")} and computes ${node.outputs.filter(Boolean).join(", ")}`).join("; ")}`;
  return scrolling("Graph", { class: "graph" },
    svg("svg", { viewBox: `-1 -1 ${width + 1} ${height + 1}`, width: width + 1, height: height + 1, role: "img", "aria-label": says },
      edges.map(drawEdge), boxes.map(drawBox)));
}

// The boxes and the edges of a model. One box produces each value; any number of boxes read it.
function connected(model) {
  const boxes = [];
  const makers = new Map();
  const edges = [];
  const made = (name, box) => {
    makers.set(name, { box, port: box.outs++ });
  };
  const read = (name, box) => {
    if (!makers.has(name)) made(name, pill(name, "constant", boxes));
    const { box: from, port } = makers.get(name);
    edges.push({ name, from, out: port, to: box, in: box.ins++ });
  };
  for (const value of model.inputs) made(value.name, pill(value.name, "input", boxes));
  const nodes = model.nodes.map((node) => {
    const box = { kind: "node", text: node.op_type, ins: 0, outs: 0 };
    boxes.push(box);
    node.outputs.filter(Boolean).forEach((name) => made(name, box));
    return box;
  });
  model.nodes.forEach((node, at) => node.inputs.filter(Boolean).forEach((name) => read(name, nodes[at])));
  for (const value of model.outputs) read(value.name, pill(value.name, "output", boxes));
  for (const box of boxes) {
    box.width = Math.ceil(box.text.length * LETTER) + (box.kind === "node" ? 36 : 22);
    box.height = box.kind === "node" ? Math.max(40, PORT * Math.max(box.ins, box.outs)) : PILL;
  }
  return { boxes, edges };
}

function pill(text, kind, boxes) {
  const box = { kind, text, ins: 0, outs: 0 };
  boxes.push(box);
  return box;
}

function layered(boxes, edges) {
  for (const box of boxes) box.layer = box.kind === "node" ? 1 : 0;
  // A graph without cycles needs at most as many rounds as it has boxes. The limit also ends the loop for a cycle.
  for (let round = 0, moved = true; moved && round < boxes.length; round++) {
    moved = false;
    for (const { from, to } of edges) {
      if (to.layer > from.layer) continue;
      to.layer = from.layer + 1;
      moved = true;
    }
  }
  const last = Math.max(0, ...boxes.map((box) => box.layer));
  for (const box of boxes) if (box.kind === "output") box.layer = last;
  return Array.from({ length: last + 1 }, (_, layer) => boxes.filter((box) => box.layer === layer));
}

function place(layers, edges) {
  let x = 0;
  layers.forEach((layer, number) => {
    for (const box of layer) box.x = x;
    const named = edges.filter((edge) => edge.from.layer === number && isInner(edge)).map((edge) => edge.name.length * LETTER + 28);
    x += Math.max(0, ...layer.map((box) => box.width)) + Math.max(56, ...named);
    settle(layer, edges);
  });
  const top = Math.min(...layers.flat().map((box) => box.y));
  for (const box of layers.flat()) box.y -= top;
}

// Place each box at the height of its inputs, or below the previous box if that place is taken.
function settle(layer, edges) {
  for (const box of layer) {
    const sources = edges.filter((edge) => edge.to === box).map((edge) => outOf(edge).y);
    box.wish = sources.length ? sources.reduce((sum, y) => sum + y, 0) / sources.length - box.height / 2 : null;
  }
  if (layer.every((box) => box.wish !== null)) layer.sort((a, b) => a.wish - b.wish);
  const wished = layer.filter((box) => box.wish !== null);
  let floor = -Infinity;
  for (const box of layer) {
    box.y = Math.max(box.wish ?? (floor === -Infinity ? 0 : floor), floor);
    floor = box.y + box.height + GAP;
  }
  const shift = wished.reduce((sum, box) => sum + box.y - box.wish, 0) / (wished.length || 1);
  for (const box of layer) box.y -= shift;
}

function outOf({ from, out }) {
  return { x: from.x + from.width, y: from.y + (from.height * (out + 0.5)) / Math.max(1, from.kind === "node" ? from.outs : 1) };
}

function into({ to, in: port }) {
  return { x: to.x, y: to.y + (to.height * (port + 0.5)) / Math.max(1, to.ins) };
}

function isInner({ from, to }) {
  return from.kind === "node" && to.kind === "node";
}

function drawEdge(edge) {
  const a = outOf(edge);
  const b = into(edge);
  const bend = Math.max(24, (b.x - a.x) / 2);
  return [
    svg("path", { class: "edge", d: `M${a.x} ${a.y}C${a.x + bend} ${a.y} ${b.x - bend} ${b.y} ${b.x} ${b.y}` }),
    isInner(edge) && svg("text", { class: "edge-name", x: a.x + 8, y: a.y - 5 }, edge.name),
  ];
}

function drawBox(box) {
  const round = box.kind === "node" ? 4 : PILL / 2;
  return svg("g", { class: `box ${box.kind}` },
    svg("rect", { x: box.x, y: box.y, width: box.width, height: box.height, rx: round }),
    svg("text", { x: box.x + box.width / 2, y: box.y + box.height / 2, "text-anchor": "middle", "dominant-baseline": "central" }, box.text));
}
