// Small plots of numbers; each has a text for screen readers.

const BAR = 11;
const TALL = 34;

// The histogram of errors: no error, each tenth of the bound, above the bound. See report/html/subjects.py.
function histogram(counts) {
  const most = Math.max(...counts);
  const width = counts.length * BAR;
  return svg("svg", { class: "histogram", width, height: TALL + 2, viewBox: `0 0 ${width} ${TALL + 2}`, role: "img", "aria-label": inWords(counts) },
    svg("title", {}, inWords(counts)),
    svg("line", { class: "axis", x1: 0, x2: width, y1: TALL + 1, y2: TALL + 1 }),
    counts.map((count, at) => {
      const height = count ? Math.max(2, (TALL * count) / most) : 0;
      return svg("rect", { class: at === counts.length - 1 ? "fill-fail" : "fill-plot", x: at * BAR + 1, y: TALL - height, width: BAR - 2, height });
    }),
    svg("line", { class: "bound", x1: (counts.length - 1) * BAR, x2: (counts.length - 1) * BAR, y1: 0, y2: TALL + 1 }));
}

function inWords(counts) {
  const [none, beyond] = [counts[0], counts.at(-1)];
  const near = counts.slice(-3, -1).reduce((sum, count) => sum + count, 0);
  const all = counts.reduce((sum, count) => sum + count, 0);
  return `${plural(all, "output")}: ${none} without an error, ${near} above eight tenths of the bound, ${beyond} above the bound`;
}

// The shares of verdicts as one bar.
function stacked(counts) {
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  let x = 0;
  const words = VERDICTS.filter((verdict) => counts[verdict]).map((verdict) => `${counts[verdict]} ${verdict}`).join(", ");
  return svg("svg", { class: "stacked", viewBox: "0 0 100 8", preserveAspectRatio: "none", role: "img", "aria-label": words },
    svg("title", {}, words),
    VERDICTS.filter((verdict) => counts[verdict]).map((verdict) => {
      const width = (100 * counts[verdict]) / all;
      x += width;
      return svg("rect", { class: `fill-${verdict}`, x: x - width, y: 0, width, height: 8 });
    }));
}

const LINE = 20;
const PLOT = 360;
// Longer labels are shortened, in letters; the text of a tick is centred on it and extends to both sides, in pixels.
const LONGEST = 38;
const HALF_A_TICK = 52;

// Errors as fractions of the bound on a logarithmic axis, one line per label; a vertical line marks the bound.
// `rows` are [label, [[fraction, description], …]]; a fraction may be "inf" or "nan".
function strip(title, rows) {
  const finite = rows.flatMap(([, points]) => points.map(([fraction]) => Number(fraction))).filter((fraction) => Number.isFinite(fraction) && fraction > 0);
  const low = Math.floor(Math.log10(Math.min(0.01, ...finite)));
  const high = Math.ceil(Math.log10(Math.max(10, ...finite)));
  const left = Math.max(HALF_A_TICK, Math.min(LONGEST, Math.max(...rows.map(([label]) => label.length))) * LETTER + 16);
  const at = (fraction) => {
    const size = Number.isFinite(Number(fraction)) ? Math.log10(Math.max(Number(fraction), 10 ** low)) : high;
    return left + (PLOT * (size - low)) / (high - low);
  };
  const top = (row) => LINE * (row + 1);
  const bottom = top(rows.length) + 4;
  return el("figure", { class: "strip" },
    el("figcaption", {}, title),
    scrolling(title, {},
      svg("svg", { width: left + PLOT + HALF_A_TICK, height: bottom + 20, role: "img", "aria-label": title },
        rows.map(([label, points], row) => [
          svg("text", { class: "label", x: left - 10, y: top(row) + 15, "text-anchor": "end" }, svg("title", {}, label), shortened(label, LONGEST)),
          svg("line", { class: "rule", x1: left, x2: left + PLOT, y1: top(row) + 11, y2: top(row) + 11 }),
          points.map((point) => mark(at(point[0]), top(row) + 11, point)),
        ]),
        svg("line", { class: "bound", x1: at(1), x2: at(1), y1: LINE - 4, y2: bottom }),
        svg("text", { class: "tick", x: at(1), y: LINE - 8, "text-anchor": "middle" }, "bound"),
        [low, high].map((power) => svg("text", { class: "tick", x: at(10 ** power), y: bottom + 14, "text-anchor": "middle" }, power > 0 ? `${number(10 ** power)} times` : `${number(10 ** power)} or less`)))));
}

// A dot within the bound, a cross above it: the colour is not the only difference.
function mark(x, y, [fraction, what]) {
  const says = svg("title", {}, `${what}: ${fractionOf(fraction)}`);
  if (Number(fraction) <= 1) return svg("circle", { class: "within", cx: x, cy: y, r: 3.5 }, says);
  return svg("path", { class: "beyond", d: `M${x - 4} ${y - 4}l8 8m0 -8l-8 8` }, says);
}

// Text with an ellipsis in its middle if it is too long; the end of a message often has the cause.
// The first words of a text.
function beginning(text, most) {
  return text.length > most ? `${text.slice(0, most - 1).trimEnd()}…` : text;
}

function shortened(text, most) {
  const end = Math.floor((most - 1) / 2);
  return text.length > most ? `${text.slice(0, most - 1 - end)}…${text.slice(-end)}` : text;
}
