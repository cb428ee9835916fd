// One case's detail, put together from its own part and from what it has in common with others; see html_pool.py.

let pool = null;

function pooled(number) {
  pool ??= embedded("pool");
  return pool[number];
}

function detailOf(one) {
  const detail = embedded(`detail-${one.number}`);
  detail.kind = one.kind;
  detail.model = modelOf(detail.model);
  detail.data_sets = detail.data_sets.map((set) => ({
    ...set,
    inputs: set.inputs.map((number) => tensorOf(pooled(number))),
    outputs: set.outputs.map((number) => tensorOf(pooled(number))),
  }));
  detail.evidence = detail.evidence.map((evidence) => ({
    ...evidence,
    outputs: (evidence.outputs || []).map((told) => outputOf(told, detail)),
    signature: evidence.signature === undefined ? "" : pooled(evidence.signature),
    checks: evidence.checks === undefined ? [] : pooled(evidence.checks),
    hazards: evidence.hazards || [],
  }));
  return detail;
}

function modelOf(model) {
  const value = (number) => {
    const [name, type, shape] = pooled(number);
    return { name, type, shape };
  };
  const node = (number) => {
    const [op_type, domain, inputs, outputs, attributes] = pooled(number);
    return { op_type, domain, inputs, outputs, attributes };
  };
  return { ...model, inputs: model.inputs.map(value), outputs: model.outputs.map(value), nodes: model.nodes.map(node) };
}

function tensorOf([name, type, shape, elided, values, hex, check, bounds, accept]) {
  return { name, type, shape, elided, values: texts(values), hex: texts(hex, "0x"), check, bounds: texts(bounds), accept: accept ?? undefined };
}

function texts(packed, prefix = "") {
  return typeof packed === "string" ? packed.split(" ").map((text) => prefix + text) : packed ?? undefined;
}

// The evidence on an output stands in a row, its name and check with the expected output; see html_evidence.py.
function outputOf([set, at, ulp, fraction, worst, more], detail) {
  const { name, check } = at === null ? {} : detail.data_sets[set].outputs[at];
  const known = (value) => value ?? undefined;
  const told = { data_set: set, name, check, max_ulp: known(ulp), error_over_bound: known(fraction), worst_index: known(worst), ...more };
  if (Array.isArray(told.actual)) told.actual = tensorOf(told.actual);
  return told;
}

// The evidence of a case on a subject, or null where that subject was not given the case.
function evidenceOf(detail, subject) {
  const result = detail.results[subject.number];
  return result && { ...detail.evidence[result[0]], seconds: result[1] };
}
