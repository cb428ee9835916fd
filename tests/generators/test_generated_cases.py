"""Properties of generated cases: exact scalars, families, sizes and long tensors."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from itertools import cycle, islice
from math import gcd

import numpy as np
import onnx
import pytest
from batches import for_each
from onnx import helper

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case
from conformance.corpus.factors.connections import join_parts
from conformance.corpus.factors.covering_array import Declaration, LevelCombination
from conformance.corpus.generation.expected_outputs import case_files, with_answers
from conformance.exact.models.graphs import subgraphs_of
from conformance.exact.models.input_files import tensor_elements
from conformance.exact.models.model_building import array_value_info, build_model
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.exact.reference.oracle import answers, evaluate
from generators import adagrad, adam, momentum, pattern_cases
from generators.argmax import argmax_sizes
from generators.declarations.families import (
    TRAINING_FAMILIES,
    coverage_lines,
    iter_declarations,
    pairwise_declaration,
    row_from_tags,
)
from generators.declarations.family import coverage
from generators.declarations.numbers import row_attributes
from generators.declarations.size_dimensions import (
    BEYOND_CACHE,
    BLOCKS,
    LONG_BLOCKS,
    OPSET,
    PERIOD,
    RANKS,
    border_indices,
    build_peak_rows,
    lengths_around,
    lengths_around_long,
    summarize_long,
    tied_index_sets,
    tile_to_shape,
)
from generators.eliminate_nop_monotone_argmax.case_texts import read_templates
from generators.exact_scalars import MAX_ULP, excludes_float, largest_width, needs_double, with_siblings
from generators.patterns import templates
from generators.patterns.chains import ALONG, ARITHMETIC, MOVES, PLANS, STRUCTURES, chain_cases, chains, grow
from generators.patterns.declared import FORMS_OF_NODE, declared_chains, declared_operators
from generators.patterns.side_by_side import side_by_side
from generators.patterns.situations import SITUATIONS, situate
from generators.patterns.surroundings import SURROUNDINGS
from generators.patterns.variations import Pattern, values_elsewhere
from generators.training_optimizers.optimizer_sizes import size_cases
from generators.training_optimizers.table import OPERATORS

# The cases of the training optimizers cover every relevant kind of input.


@pytest.fixture(scope="module")
def examples(defined):
    """Return the valid cases with one node and without initializers, by operator: nodes with their data sets."""
    found = defaultdict(list)
    for case in (case for _, case in defined.values() if not case.is_invalid):
        graph = onnx.load_model_from_string(case.model).graph
        if len(graph.node) == 1 and not graph.initializer:
            found[graph.node[0].op_type].append((graph.node[0], case.data_sets))
    return found


@pytest.mark.whole
@pytest.mark.parametrize("op_type", TRAINING_OPTIMIZERS)
class TestBreadth:
    """Minimum variety of inputs for each training optimizer."""

    def test_update_counts_are_covered(self, examples, op_type):
        counts = {int(data[1].flat[0]) for _, sets in examples[op_type] for data in sets}
        assert counts >= {0, 1, 2, 10, 1000, 2**24 + 1, 2**32 + 1}
        assert min(counts) < 0

    def test_type_combinations_are_covered(self, examples, op_type):
        types = {(d[0].dtype.name, d[2].dtype.name) for _, sets in examples[op_type] for d in sets}
        assert types >= {(rate, tensor) for rate in ("float32", "float64") for tensor in ("float32", "float64")}

    def test_ranks_and_sizes_are_covered(self, examples, op_type):
        shapes = {array.shape for _, sets in examples[op_type] for data in sets for array in data[2:]}
        assert {len(shape) for shape in shapes} >= {0, 1, 2, 3, 4}
        assert {int(np.prod(shape)) for shape in shapes} >= {0, 1, 7, 3001}

    def test_tensor_counts_are_covered(self, examples, op_type):
        groups = len(TRAINING_OPTIMIZERS[op_type].operands)
        counts = {(len(data) - 2) // groups for _, sets in examples[op_type] for data in sets}
        assert counts >= {1, 2, 3, 8}

    def test_different_shapes_in_one_node_are_covered(self, examples, op_type):
        assert any(len({a.shape for a in data[2:]}) >= 3 for _, sets in examples[op_type] for data in sets)

    def test_attribute_sets_are_covered(self, examples, op_type):
        signature = TRAINING_OPTIMIZERS[op_type]
        given = {frozenset(a.name for a in node.attribute) for node, _ in examples[op_type]}
        required = frozenset(signature.required)
        assert required | set(signature.defaults) in given
        assert required in given
        assert given >= {required | {name} for name in signature.defaults}

    def test_special_values_are_covered(self, examples, op_type):
        elements = np.concatenate(
            [a.astype(np.float64).ravel() for _, s in examples[op_type] for d in s for a in d[2:]]
        )
        assert np.isnan(elements).any()
        assert {np.inf, -np.inf} <= set(elements[np.isinf(elements)])
        assert {True, False} == set(np.signbit(elements[elements == 0]).tolist())
        magnitudes = np.abs(elements[np.isfinite(elements) & (elements != 0)])
        assert magnitudes.min() < np.finfo(np.float64).smallest_normal
        assert magnitudes.max() > 1e80

    def test_update_counts_vary_within_a_model(self, examples, op_type):
        assert any(len({int(d[1].flat[0]) for d in sets}) >= 3 for _, sets in examples[op_type])


# Wide `must` cases in double become `should`, and get a sibling in which float and double give the same scalars.


def split_cases(module):
    """Return the cases of an operator's family `pairwise`, and the same cases with siblings, by id."""
    before = {case.id: case for case in module.MATRIX.cases()}
    return before, {case.id: case for case in with_siblings(lambda: iter(before.values()))()}


@pytest.fixture(scope="module", params=[adam, adagrad], ids=["adam", "adagrad"])
def split(request):
    return split_cases(request.param)


def siblings(after):
    return {id.removesuffix("_exact"): case for id, case in after.items() if id.endswith("_exact")}


def update(case):
    return answers(case.model, case.data_sets[0], Level.MUST)[0]


def test_case_with_a_sibling_is_should_and_otherwise_unchanged(split):
    before, after = split
    assert siblings(after)
    for id, case in before.items():
        level = Level.SHOULD if id in siblings(after) else Level.MUST
        assert (after[id].level, after[id].model, after[id].tags) == (level, case.model, case.tags), id


def test_sibling_is_must_and_narrow(split):
    _, after = split
    for id, sibling in siblings(after).items():
        assert sibling.level is Level.MUST
        answer = update(sibling)
        assert largest_width(answer.expected, answer.bound, sibling.data_sets[0]) <= MAX_ULP, id
        assert not needs_double(answer.expected) or excludes_float(answer.expected, answer.bound), id


def test_sibling_keeps_the_tensors(split):
    before, after = split
    for id, sibling in siblings(after).items():
        for inputs, exact in zip(before[id].data_sets, sibling.data_sets, strict=True):
            assert int(exact[1]) == min(int(inputs[1]), 0)
            assert exact[0].dtype == inputs[0].dtype
            assert all(map(np.array_equal, inputs[2:], exact[2:])), id


def test_sibling_keeps_exact_attributes(split):
    before, after = split
    for id, sibling in siblings(after).items():
        given, exact = (attributes(case) for case in (before[id], sibling))
        changed = {name for name in exact if exact[name] != given.get(name)}
        assert changed <= {"alpha", "beta", "norm_coefficient_post"}, id
        assert list(exact)[: len(given)] == list(given), id


def attributes(case):
    (node,) = onnx.load_model_from_string(case.model).graph.node
    return {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}


def test_momentum_has_no_siblings():
    before, after = split_cases(momentum)
    assert list(after.values()) == list(before.values())


class TestWidth:
    def test_width_is_relative_to_the_largest_operand(self):
        expected, bound = np.array([1.0]), np.array([2.0**-50])
        assert largest_width(expected, bound, ()) == 4
        assert largest_width(expected, bound, [np.array([8.0])]) == 0.5
        assert largest_width(expected, bound, [np.array([np.inf])]) == 4
        assert largest_width(expected, None, ()) == 0

    def test_float_is_excluded_outside_of_the_bound(self):
        expected = np.array([0.5, 0.1, np.nan])
        distance = abs(float(np.float32(0.1)) - 0.1)
        assert needs_double(expected)
        assert not needs_double(expected[[0, 2]])
        assert excludes_float(expected, np.full(3, distance / 2))
        assert not excludes_float(expected, np.full(3, distance))
        assert excludes_float(expected, None)


# Cases cover all declarations, and every uncovered combination has a reason.


DECLARATIONS = {
    f"{operator} {family}": (operator, family, declaration) for operator, family, declaration in iter_declarations()
}


@pytest.fixture(scope="module")
def all_tags(defined):
    return [set(case.tags) for _, case in defined.values()]


def tags_of(rows):
    return [("adam", "placed", *(f"{factor}={value}" for factor, value in row.items())) for row in rows]


@pytest.mark.parametrize("name", DECLARATIONS)
class TestCorpus:
    @pytest.mark.whole
    def test_cases_cover_all_coverable_interactions(self, name, all_tags):
        operator, family, declaration = DECLARATIONS[name]
        covered = coverage(declaration, [row_from_tags(tags) for tags in all_tags if {operator, family} <= tags])
        assert covered.coverable
        assert covered.missing == []

    def test_impossible_interaction_is_forbidden_with_a_reason(self, name):
        _, _, declaration = DECLARATIONS[name]
        impossible = coverage(declaration, []).impossible
        assert all(declaration.is_forbidden(dict(pair)) for pair in impossible), impossible
        assert all(each.reason for each in (*declaration.forbidden, *declaration.masking, *declaration.omissions))


class TestCoverageLines:
    def test_empty_corpus_covers_nothing(self):
        lines = list(coverage_lines([]))
        assert lines[0] == "adam placed: 0 cases"
        assert any(line.startswith("  0 of 396 ") for line in lines)
        assert any("scope=main with source=input with consumer=output" in line for line in lines)

    def test_coverage_report_of_all_rows_is_complete(self):
        rows = TRAINING_FAMILIES["placed"].declaration("Adam").rows
        lines = list(coverage_lines(tags_of(rows)))
        lines = lines[: lines.index("adam numbers: 0 cases")]
        assert any(line.startswith("  396 of 396 ") for line in lines)
        assert not any("not covered" in line for line in lines)

    def test_expanded_case_is_not_counted(self):
        [row, *_] = pairwise_declaration("Adam").rows
        own = ["adam", "pairwise", *(f"{factor}={value}" for factor, value in row.items())]
        assert any(line.startswith("adam pairwise: 1 ") for line in coverage_lines([own, [*own, "expanded"]]))

    def test_report_states_reasons(self):
        lines = list(coverage_lines([]))
        assert any(line.startswith("    scope=scan with tensors=0d: ") for line in lines)
        assert any(line.startswith("    a sparse initializer: ") for line in lines)


ROW = {"alpha": "usual", "beta": "as_alpha", "mode": "nesterov", "norm_coefficient": "usual"}


class TestAttributes:
    @pytest.mark.parametrize(
        ("order", "names"),
        [
            ("listed", ["alpha", "beta", "mode", "norm_coefficient"]),
            ("reversed", ["norm_coefficient", "mode", "beta", "alpha"]),
            ("rotated", ["beta", "mode", "norm_coefficient", "alpha"]),
        ],
    )
    def test_attributes_have_the_order_of_the_row(self, order, names):
        assert list(row_attributes("Momentum", {**ROW, "T": "first", "order": order})) == names

    def test_beta_can_equal_alpha(self):
        given = row_attributes("Momentum", {**ROW, "alpha": "near_one", "T": "hundreds", "order": "listed"})
        assert given["alpha"] == given["beta"] == 1 - 2.0**-9

    @pytest.mark.parametrize("op_type", TRAINING_OPTIMIZERS)
    def test_model_keeps_the_attribute_order(self, op_type):
        family = TRAINING_FAMILIES["numbers"]
        row = next(row for row in family.declaration(op_type).rows if row["order"] == "reversed")
        (node,) = onnx.load_model_from_string(family.build(op_type, "reversed", row).model).graph.node
        assert [attribute.name for attribute in node.attribute] == list(row_attributes(op_type, row))


def test_level_combination_needs_all_levels():
    combination = LevelCombination({"a": ("1", "2"), "b": ("1",)}, "because")
    assert combination.is_in({"a": "2", "b": "1", "c": "3"})
    assert not combination.is_in({"a": "2"})
    assert Declaration({}, forbidden=(combination,)).is_forbidden({"a": "1", "b": "1"})


# Sizes around block sizes, and graph parts that build and summarise long tensors.


PERIODIC = np.arange(PERIOD, dtype=np.int32)


def outputs(part, inputs):
    """Return the outputs of a part for these inputs, by name."""
    serialised = build_model(
        "long",
        part.nodes,
        [array_value_info(*named) for named in inputs.items()],
        [array_value_info(*named) for named in part.given.items()],
        {"": OPSET},
        {tensor.name: tensor_elements(tensor) for tensor in part.initializers},
    )
    values = evaluate(onnx.load_model_from_string(serialised), list(inputs.values()))
    return dict(zip(part.given, values, strict=True))


def summary_of(changed: int | None, length: int = 2 * 256) -> dict:
    """Return the summary of a periodic vector in which one element is changed."""
    vector = np.resize(PERIODIC, length)
    if changed is not None:
        vector[changed] += 1000
    return outputs(summarize_long("X", vector, length, 256), {"X": vector})


@pytest.mark.parametrize("block", [*BLOCKS, *LONG_BLOCKS])
def test_period_and_block_size_are_coprime(block):
    assert gcd(block, PERIOD) == 1


def test_lengths_surround_the_block_size():
    assert lengths_around(8) == (7, 8, 9, 16)
    assert lengths_around_long(4096) == (4097, 8192)


def test_shapes_have_ranks_0_to_8():
    assert [len(shape) for shape in RANKS] == list(range(9))


def test_border_indices_are_ends_and_border_sides():
    assert border_indices(9, 4) == [0, 3, 4, 7, 8]


def test_tied_index_sets_cover_lanes_and_ends():
    assert list(tied_index_sets(16, 8)) == [(1, 9), (6, 7), (0, 15)]


def test_tile_to_shape_repeats_the_period():
    part = tile_to_shape("period", PERIOD, "X", (3, 50))
    part = join_parts((part, type(part)(given={"X": np.zeros((3, 50), dtype=np.int32)})))
    np.testing.assert_array_equal(outputs(part, {"period": PERIODIC})["X"], np.resize(PERIODIC, (3, 50)))


@pytest.mark.parametrize("index", [0, 60, 61, 300, 487, 488, 511])
def test_any_wrong_element_changes_a_summary_output(index):
    right, wrong = summary_of(None), summary_of(index)
    assert any(not np.array_equal(right[name], wrong[name]) for name in right)


def test_peaks_are_exactly_at_their_indices():
    part = build_peak_rows("period", "peak", "X", [(0, 69), (5,), (5, 6)], 70)
    part = join_parts((part, type(part)(given={"X": np.zeros((3, 70), dtype=np.int32)})))
    matrix = outputs(part, {"period": PERIODIC, "peak": np.array([100], dtype=np.int32)})["X"]
    assert np.argwhere(matrix == 100).tolist() == [[0, 0], [0, 69], [1, 5], [2, 5], [2, 6]]


# The size cases cover the declared lengths and store only small tensors.


MAX_STORED_BYTES = 64 * 1024
LENGTHS = {length for block in BLOCKS for length in lengths_around(block)}
LONG = {length for block in LONG_BLOCKS for length in lengths_around_long(block)} | {BEYOND_CACHE}

ARGMAX = list(argmax_sizes.cases())
CASES = [*ARGMAX, *(case for operator in OPERATORS for case in size_cases(operator))]


@for_each("case", CASES, lambda case: case.id)
def test_stored_tensors_are_at_most_64_kib(case):
    graph = onnx.load_model_from_string(case.model).graph
    stored = [*map(tensor_elements, graph.initializer), *(array for inputs in case.data_sets for array in inputs)]
    assert max(array.nbytes for array in stored) <= MAX_STORED_BYTES


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_optimizer_cases_have_every_declared_length(operator):
    text = " ".join(case.title for case in size_cases(operator)).replace(",", "")
    assert {str(length) for length in LENGTHS | LONG} <= set(text.split())


def test_argmax_cases_have_every_declared_length():
    text = " ".join(case.title for case in ARGMAX).replace(",", "")
    assert {str(length) for length in LENGTHS | LONG} <= set(text.split())


@pytest.mark.parametrize("step", [1, 4])
def test_shifted_rows_have_a_maximum_at_every_index(step):
    length = 30
    starts = range(step)
    rows = argmax_sizes._ShiftedRows("X", length, step)
    count = -(-rows.period // step)
    found = {
        int(place)
        for start in starts
        for place in np.resize(rows.vector(np.float32, (start,)), (count, length)).argmax(axis=1)
        if np.resize(rows.vector(np.float32, (start,)), (count, length)).max() == argmax_sizes.PEAK_VALUE
    }
    assert found >= set(range(length))


# Patterns that graph optimizers rewrite.


@pytest.mark.long
def test_pattern_families_have_valid_models_with_each_condition():
    tags = defaultdict(set)
    cases = list(pattern_cases())
    for case in cases:
        onnx.checker.check_model(onnx.load_model_from_string(case.model), full_check=True)
        assert case.data_sets, case.id
        for tag in case.tags:
            tags[tag].update(case.tags)
    assert len(cases) <= 3000
    for template in templates():
        levels = {f"{factor}={level}" for factor, levels in template.factors.items() for level in levels}
        assert levels <= tags[template.family], template.family
    assert {tag for tag in tags if tag.startswith("situation=")} == {f"situation={name}" for name in SITUATIONS}


FAMILY = """family NAME
id test_NAME

factors NAME paired
node: relu, exp, abs
second: none, neg, sign

levels node
node | operator
relu | Relu
exp | Exp
abs | Abs

levels second
second | last
neg | Y = Neg (A)
sign | Y = Sign (A)

$last
Y = Identity (A)

${number}_${node}_$second: Two nodes
valid; may change; each NAME
input X: float[1] {1}
(float[1] X) => (float[1] Y)
A = $operator (X)
$last
"""


def test_family_apart_has_no_fragments_and_levels_of_a_family_before(tmp_path):
    text = FAMILY.replace("family NAME", "family NAME apart")
    without_last = text.replace("$last\nY = Identity (A)\n\n", "").replace("neg | Y = Neg (A)\n", "")
    path = tmp_path / "families.txt"
    path.write_text(f"{text.replace('NAME', 'one')}\n{without_last.replace('NAME', 'two')}")
    one, two = read_templates(path, around_first=True)
    pairs = [tuple(row[factor] for factor in one.factors) for row, _ in one.cases()]
    assert sorted(pairs) == [(node, second) for node in ("abs", "exp", "relu") for second in ("neg", "none", "sign")]
    assert one.is_paired
    assert two.case({"number": "001", "node": "exp", "second": "sign"}, {}).model
    for second in ("none", "neg"):
        with pytest.raises(KeyError, match="last"):
            two.case({"number": "001", "node": "exp", "second": second}, {})


def test_chains_of_operators_are_valid_and_have_answers():
    for case in chain_cases(islice(chains(), 300)):
        onnx.checker.check_model(onnx.load_model_from_string(case.model), full_check=True)
        assert case_files(case, "patterns")


def test_declared_chains_are_valid_and_have_answers():
    for case in chain_cases(declared_chains(islice(declared_operators(), 0, None, 12))):
        onnx.checker.check_model(onnx.load_model_from_string(case.model), full_check=True)
        assert case_files(case, "patterns")


@pytest.mark.parametrize("form", FORMS_OF_NODE)
def test_declared_chains_have_each_form_of_an_operator(form):
    chain = next(declared_chains(["Gelu"], [form]))
    made = {name for node in chain.nodes for name in node.output}
    gelus = [node for node in chain.nodes if node.op_type == "Gelu"]
    kinds = {
        "constants": not chain.inputs,
        "moved operand": gelus[0].input[0] in made,
        "moved result": len(chain.nodes) == 2,
        "nearly equal": len(gelus) == 2 and [*gelus[0].attribute] != [*gelus[1].attribute],
        "repeated": len(gelus) == 2 and gelus[1].input[0] == gelus[0].output[0],
        "negated": chain.nodes[0].op_type == "Neg",
        "converted": chain.nodes[0].op_type == "Cast",
    }
    assert kinds[form]


def test_chain_of_a_captured_value_has_a_branch_that_reads_it():
    captured = 0
    for chain in islice(chains(), 600):
        made = {name for node in chain.nodes for name in node.output}
        branches = [graph for node in chain.nodes if node.op_type == "If" for graph in subgraphs_of(node)]
        captured += any(name in made for graph in branches for node in graph.node for name in node.input)
    assert captured


def test_chains_have_every_structure_and_most_operators():
    grown = [
        (structure, grow(structure, names[:-1], 18, random.Random(str(names))))
        for _, structure, places in PLANS
        for names in zip(*map(cycle, places), range(3 * max(map(len, places))), strict=False)
    ]
    assert {structure for structure, found in grown if found} == {*STRUCTURES}
    nodes = {node.op_type for _, found in grown if found for node in found.nodes}
    assert len(nodes) >= 70
    assert not {*MOVES, *ALONG, *ARITHMETIC} - nodes


def test_surroundings_keep_the_model_valid_and_add_answers():
    for surround in SURROUNDINGS:
        model = onnx.parser.parse_model(SITUATED)
        added = surround(model, {})
        onnx.checker.check_model(model, full_check=True)
        assert len(model.graph.output) == 1 + len(added)
        assert not model.graph.value_info  # a removed value would leave its declaration, which harms nobody


def test_one_surrounding_has_names_that_differ_in_marks_only():
    found = []
    for surround in SURROUNDINGS:
        model = onnx.parser.parse_model(SITUATED)
        surround(model, {})
        names = {name for node in model.graph.node for name in node.output}
        found.append(len(names) - len({re.sub(r"\W", "_", name) for name in names}))
    assert max(found) > 0


FUNCTION_CASE = """<ir_version: 8, opset_import: ["": 17, "acme": 1]>
one (float[N] X) => (float[N] Y) { Y = acme.F (X) }
<domain: "acme", opset_import: ["": 17]> F (A) => (B) { B = Neg (A) }"""


def test_cases_side_by_side_keep_their_functions_and_answers():
    model = onnx.parser.parse_model(FUNCTION_CASE).SerializeToString()
    data = ((np.array([1, 2], np.float32),),)
    tags = ("pattern", "pass", "one", "situation=s")
    case = with_answers(Case("test_one", "One", Level.MUST, ("monotone.valid",), tags, model, data))
    (both,) = side_by_side([case, case], 2)
    joined = onnx.load_model_from_string(both.model)
    onnx.checker.check_model(joined, full_check=True)
    assert [value.name for value in joined.graph.output] == ["Y_1", "Y_2"]
    assert [function.name for function in joined.functions] == ["F_1", "F_2"]
    assert [answer.expected.tolist() for answer in both.answers[0]] == [[-1, -2], [-1, -2]]


SITUATED = """<ir_version: 8, opset_import: ["": 17]> pattern (float[2,3] X) => (float[2,1] Y)
<float[3] W = {1, 2, 3}> { E = Exp (X) A = Mul (E, W) B = Add (A, X) Y = ReduceMean <axes = [1]> (B) }"""

SITUATED_TEXTS = {
    "defaults": "float[3] W) =>",
    "late_operands": "W = Neg (W_given)",
    "other_axes": "axes: ints = [-1]",
    "other_keepdims": "keepdims: int = 0",
    "no_rows": "float[rows,3] X",
    "no_columns": None,  # W has three columns
    "named_sizes": "float[size_0_0,size_0_1] X",
    "equal_sizes": "float[size_2,size_3] X",
    "wide_constants": "float[1,1,3] wide",
    "special_values": "float[2,3] X",
    "half": "float16[2,3] X",
    "double": "double[2,3] X",
    "int32": "int32[2,3] X",
    "int64": "int64[2,3] X",
    "moved_axis": None,
    "opset_12": '"" : 12',
    "opset_23": "ReduceMean (B, axes_of_Y)",
    "in_branch": "Y_outside = If (taken)",
    "inner_constants": "(float[2,1] Y_outside) {",
    "in_loop": "Y_outside = Loop (trips, running)",
    "in_nested_graph": "Y_outside_outside = Loop (trips, running)",
    "in_function": "Y_again = acme.Pattern (X)",
    "function_parameters": "axes: ints = @axes_",
    "values_elsewhere": "(float[2,1] Y, float[2,3] B)",
    "constants_elsewhere": "W_chosen = If (W_taken)",
    "replaceable": "float[3] W) =>",
    "unknown": "float[3] W) =>",
    "constant_nodes": "W = Constant",
    "other_elements": "Mul (E, W_varied)",
    "special_constants": "W_varied =  {1,2,-0}",
    "other_shapes": "float[1,3] W_varied",
    "attributes": "axes: ints = []",
    "swapped": None,  # the operators are commutative
    "fed_twice": "B = Add (A, A)",
    "other_operand": "B = Add (A, X_instead)",
    "omitted": None,
    "more_results": None,
    "broadcasts": "float[1,2,3] X",
    "more_axes": "float[1,2,3] X",
    "twice": "A_too = Mul (E_too, W)",
    "one_shared": None,  # there is one constant only
    "inside": "Y_after = Neg (Y)",
    "other_types": "float16[2,3] X",
    "operand_counts": None,
    "added": None,  # the axes are an attribute
    "together": None,  # no attribute and no constant is equal to another one
    "other_operators": "Div (E, W)",
    "exchanged": "Mul (X, W)",
    "other_domains": "E = acme.Exp (X)",
}

OTHER_SITUATED_TEXTS = [
    ("omitted", "(float[2] X) => (float[2] Y) <float low = {0}> { Y = Clip (X, low) }", "Clip (X)"),
    ("more_results", "(float[1,1,2] X) => (float[1,1,2] Y) { Y = MaxPool <kernel_shape = [1]> (X) }", "Y, Y_second ="),
    ("operand_counts", "(float[2] X) => (float[2] Y) { Y = Max (X) }", "Max (X, X_more)"),
    (
        "one_shared",
        "(float[1] X) => (float[1] Y) <float[1] A = {2}, float[1] B = {3}> { C = Mul (X, A) Y = Add (C, B) }",
        "_too",
    ),
    (
        "other_elements",
        "(float[2,3] X) => (float[3] Y) <int64[1] a = {0}> { Y = ReduceSum <keepdims = 0> (X, a) }",
        "varied",
    ),
    ("added", "(float[2] X) => (float[2] Y) <float low = {0}> { Y = Clip (X, low) }", "Clip (X, low, Y_operand_2)"),
    (
        "together",
        "(float[2,3] X) => (float[2,3] Y) { A = Softmax <axis = 1> (X) Y = LogSoftmax <axis = 1> (A) }",
        "LogSoftmax <axis: int = 0> (A)",
    ),
    (
        "together",
        "(float[2] X) => (float[2] Y) <float a = {3}, float b = {3}> { A = Mul (X, a) Y = Add (A, b) }",
        "float b =  {-3}",
    ),
    ("attributes", "(float[2] X) => (float[2] Y) { Y = Transpose (X) }", "perm: ints = [0]"),
    ("swapped", "(float[2] X, float[2] Z) => (float[2] Y) { Y = Sub (X, Z) }", "Sub (Z, X)"),
    ("no_columns", "(float[2] X) => (float[2] Y) { Y = Neg (X) }", "float[0] X"),
    ("moved_axis", "(float[2,3] X) => (float[2,3] Y) { Y = Softmax <axis = 1> (X) }", "axis: int = 0"),
]


SIZED = """<ir_version: 8, opset_import: ["": 17]> sized (float[1,2,3] X) => (float[1,2,3] Y)
<float[2,2,1] W = {1, 2, 3, 4}, float[2] B = {1, 2}> { Y = Conv <pads = [0, 0]> (X, W, B) }"""


@pytest.mark.parametrize("name", ["other_shapes", "broadcasts", "more_axes"])
def test_sizes_that_only_the_page_of_an_operator_restricts_are_not_varied(name):
    assert situate(onnx.parser.parse_model(SIZED), [np.ones((1, 2, 3), np.float32)], name) is None


def test_nodes_whose_result_must_be_a_scalar_are_not_exchanged():
    text = """<ir_version: 8, opset_import: ["": 17]> range (float[1] X) => (int64[N] Y)
    <int64 a = {0}, int64 b = {1}, int64[1] c = {0}> { S = Shape (X) T = Squeeze (S, c) Y = Range (a, T, b) }"""
    assert situate(onnx.parser.parse_model(text), [np.ones(1, np.float32)], "exchanged") is None


@pytest.mark.parametrize(("name", "text", "expected"), OTHER_SITUATED_TEXTS)
def test_situation_of_a_node_changes_the_model(name, text, expected):
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> pattern {text}')
    shape = [size.dim_value for size in model.graph.input[0].type.tensor_type.shape.dim]
    found = situate(model, [np.ones(shape, np.float32) for _ in model.graph.input], name)
    onnx.checker.check_model(found.model, full_check=True)
    assert expected in onnx.printer.to_text(found.model)


def test_values_that_are_used_elsewhere_already_are_no_places():
    text = SITUATED.replace("(float[2,1] Y)", "(float[2,1] Y, float[2,3] E)")
    pattern = Pattern(onnx.parser.parse_model(text), {"X": np.ones((2, 3), np.float32)})
    places = {(words, kind): change for words, kind, change in values_elsewhere(pattern)}
    assert places[">Exp>Mul Mul", "shown"] is None
    assert (">Exp>Mul Mul", "read") not in places
    assert places["Exp>Mul>Add Add", "read"] is not None


def test_situation_whose_places_are_covered_is_left_out():
    model = onnx.parser.parse_model(SITUATED)
    found = situate(model, [np.ones((2, 3), np.float32)], "half")
    assert situate(model, [np.ones((2, 3), np.float32)], "half", found.places) is None


@pytest.mark.parametrize("name", SITUATIONS)
def test_situation_changes_the_model_and_its_inputs(name):
    found = situate(onnx.parser.parse_model(SITUATED), [np.ones((2, 3), np.float32)], name)
    expected = SITUATED_TEXTS[name]
    if expected is None:
        assert found is None
    else:
        if name not in ("other_types", "int32", "int64"):  # `situated_cases` leaves out what the checker rejects
            onnx.checker.check_model(found.model, full_check=True)
        assert expected in onnx.printer.to_text(found.model)
        fixed = {tensor.name for tensor in found.model.graph.initializer}
        assert len(found.inputs) == len([value for value in found.model.graph.input if value.name not in fixed])
