// Tensors as text and tables: type and shape, elements in decimal and in hexadecimal.

function typeOf({ type, shape }) {
  return `${type}[${shape.join(", ")}]`;
}

function number(value, digits = 3) {
  if (typeof value !== "number") return String(value);
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return String(value);
  return size < 1e-3 || size >= 1e6 ? value.toExponential(digits - 1).replace(/\.?0+e/, "e") : String(Number(value.toPrecision(digits)));
}

// A decimal as people write it: 100 for 1e+02; see `plain_decimal` of the terminal.
function plainDecimal(text) {
  const found = /^-?[\d.]+e([+-]\d+)$/.exec(text);
  if (!found) return text;
  return Number(found[1]) > 15 ? text.replace(/e\+/, "e") : String(Number(text));
}

function coordinates(index) {
  return `[${index.join(", ")}]`;
}

// The index of the nth element of a tensor in row-major order.
function unravel(position, shape) {
  const index = [];
  for (const size of [...shape].reverse()) {
    index.unshift(size ? position % size : 0);
    position = size ? Math.floor(position / size) : 0;
  }
  return index;
}

// A tensor in one cell of a table, for inputs.
function inline(preview) {
  if (!preview.values.length) return el("span", { class: "muted" }, "no elements");
  const more = preview.elided ? ` … ${preview.elided} more` : "";
  return [
    el("div", { class: "values" }, listed(preview.values), more),
    preview.hex && el("div", { class: "values muted" }, listed(preview.hex), more),
  ];
}

function listed(values) {
  return values.flatMap((value, at) => [at ? ", " : "", el("span", {}, plainDecimal(value))]);
}

function inputsTable(inputs) {
  if (!inputs.length) return el("p", { class: "muted" }, "The model has no inputs: its operands are constants.");
  return table("Inputs", ["Input", "Type", "Elements, in decimal and in hex"],
    inputs.map((input) => tr([el("code", {}, input.name), el("code", {}, typeOf(input)), inline(input)])));
}

// Check whether the specification determines no value of an element.
function isUndetermined(wanted, at) {
  return wanted.bounds !== undefined && wanted.bounds !== null && wanted.bounds[at] === "inf";
}

// Check whether an element is wrong, judged by the shown values.
function isWrong(wanted, actual, at) {
  const [want, got] = [wanted.values[at], actual.values[at]];
  if (isUndetermined(wanted, at)) return false;
  if (wanted.accept) return !wanted.accept[at].split(" or ").includes(got);
  const same = wanted.hex && actual.hex ? actual.hex[at] === wanted.hex[at] : got === want;
  if (same || (want === "nan" && got === "nan")) return false;
  return wanted.check === "exact" || !wanted.bounds || !(Math.abs(real(got) - real(want)) <= real(wanted.bounds[at]));
}

function real(text) {
  return Number(text.replace("inf", "Infinity"));
}

// The first wrong element as a row, if it is not among the shown elements.
function hiddenBadRow(wanted, bad) {
  if (wanted.values.some((_, at) => String(unravel(at, wanted.shape)) === String(bad.index))) return null;
  return tr([
    coordinates(bad.index), plainDecimal(bad.expected), wanted.hex && (bad.expected_hex ?? ""), wanted.bounds && (bad.bound ?? ""), plainDecimal(bad.actual), wanted.hex && (bad.actual_hex ?? ""),
  ].filter((cell) => cell !== null && cell !== undefined), { class: "wrong" });
}

// A table of the elements of an expected output, with the actual elements if they are known, and the first wrong one.
function elementsTable(caption, wanted, actual = null, bad = null) {
  const beside = actual && String(actual.shape) === String(wanted.shape) ? actual : null;
  const heads = ["Element", "Expected", wanted.hex && "in hex", wanted.bounds && "Bound (±)", beside && "Actual", beside && beside.hex && "in hex"];
  const rows = wanted.values.map((value, at) => {
    return tr([
      coordinates(unravel(at, wanted.shape)),
      wanted.accept ? wanted.accept[at] : isUndetermined(wanted, at) ? "any value" : plainDecimal(value),
      wanted.hex && (isUndetermined(wanted, at) ? "" : wanted.hex[at] ?? ""),
      wanted.bounds && (isUndetermined(wanted, at) ? "" : wanted.bounds[at] ?? ""),
      beside && plainDecimal(beside.values[at] ?? ""),
      beside && beside.hex && (beside.hex[at] ?? ""),
    ].filter((cell) => cell !== null && cell !== undefined), { class: beside && isWrong(wanted, beside, at) ? "wrong" : null });
  });
  if (beside && bad) rows.push(hiddenBadRow(wanted, bad));
  return el("div", { class: "numbers" },
    wanted.values.length ? table(caption, heads.filter(Boolean), rows.filter(Boolean)) : el("p", { class: "muted" }, "No elements."),
    wanted.elided > 0 && el("p", { class: "muted" }, `${plural(wanted.elided, "more element")} not shown.`),
    actual && !beside && el("div", {}, el("p", {}, "Actual: ", el("code", {}, typeOf(actual))), inline(actual)));
}
