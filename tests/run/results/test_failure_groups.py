"""Grouping of failures by probable group."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from runs_in_memory import DIAGNOSIS, make_case, make_result

from conformance.run.results.failure_groups import (
    EVIDENCE_CASES,
    CaseResult,
    FailureGrouper,
    first_violation,
    format_group_counts,
    mutant_sentence,
    not_examined,
    unexpected_records,
    violated_clauses,
)
from conformance.run.results.records import Diagnosed, OutputEvidence, UnexplainedRecord
from conformance.run.results.violations import Violation, normalize_message
from conformance.run.results.violations import ViolationKind as Kind

BAD = {"index": [0], "expected": "1", "actual": "2"}
PREVIEW = {"name": "X_new", "type": "float", "shape": [1], "values": ["1"], "elided": 0}


def case(name: str, elements: int = 1, clauses: tuple[str, ...] = ("adam.x_new", "adam.v_new"), **more: Any) -> Any:
    data_set = {"inputs": [{**PREVIEW, "shape": [elements]}], "outputs": []}
    return make_case(case=name, clauses=list(clauses), model={"nodes": [{}]}, data_sets=[data_set], **more)


def of_sentence(text: str) -> dict[str, str]:
    return {"kind": "invalid_model", "detail": text}


def gone(operator: str, place: str, detail: str = "the pass keeps it", **more: Any) -> Violation:
    return Violation(Kind.OPERATOR_GONE, operator, place, detail=detail, **more)


def metadata_gone(key: str, place: str) -> Violation:
    return Violation(Kind.METADATA_GONE, key, place, place)


def output(name: str, violation: str | dict[str, str] | None = None, **more: Any) -> Any:
    record = {"data_set": 0, "name": name, "check": "bound"}
    said = of_sentence(violation) if isinstance(violation, str) else violation
    return record | more if said is None else record | {"violation": said} | more


def failure(name: str, **more: Any) -> Any:
    record = {"case": name, "verdict": "fail", "phase": "compare", "message": "X_new is wrong"}
    return make_result(**record | {"outputs": [output("X_new", "is wrong"), output("V_new")]} | more)


def found(*results: Any, diagnoses: Any = (), cases: Any = ()) -> list[Any]:
    known = {each.case: each for each in cases}
    by_key = {(result.subject, result.case): result for result in results}
    grouper = FailureGrouper(lambda subject, name: CaseResult(known.get(name, case(name)), by_key[subject, name]))
    for result in results:
        grouper.add(known.get(result.case, case(result.case)), result)
    return grouper.groups(diagnoses)


class TestGroups:
    def test_cases_with_equal_violation_and_clause_form_one_group(self):
        (group,) = found(failure("test_a"), failure("test_b"))
        assert (group.sentence, group.cases) == ("adam.x_new, bound: X_new is wrong", ("test_a", "test_b"))

    def test_group_does_not_name_the_clause_of_a_correct_output(self):
        other = failure("test_b", outputs=[output("X_new"), output("V_new", "is wrong")])
        assert [group.clause for group in found(failure("test_a"), other)] == ["adam.x_new", "adam.v_new"]

    def test_group_of_wrong_states_does_not_name_a_clause_of_x_new(self):
        clauses = ("momentum.x_new_standard", "momentum.v_new")
        both = [output("X_new", "is wrong"), output("V_new", "is wrong")]
        one = [output("X_new"), output("V_new", "is wrong")]
        results = [failure("test_a", outputs=both), failure("test_b", outputs=one)]
        (group,) = found(*results, cases=[case("test_a", clauses=clauses), case("test_b", clauses=clauses)])
        assert (group.clause, group.cases) == ("momentum.v_new", ("test_a", "test_b"))

    def test_groups_name_as_few_clauses_as_possible(self):
        cases = [
            case("test_a", clauses=("adam.x", "adam.y")),
            case("test_b", clauses=("adam.y", "adam.z")),
            case("test_c", clauses=("adam.z", "adam.w")),
        ]
        groups = found(*(failure(each.case) for each in cases), cases=cases)
        assert [(group.clause, group.cases) for group in groups] == [
            ("adam.y", ("test_a", "test_b")),
            ("adam.z", ("test_c",)),
        ]

    @pytest.mark.parametrize(
        ("names", "expected"),
        [("rst", ["adam.r", "adam.s", "adam.t"]), ("rstx", ["adam.v_new"]), (("v_new", "r"), ["adam.v_new"])],
    )
    def test_output_that_is_wrong_under_many_clauses_or_its_formula_is_one_cause(self, names, expected):
        wrong = [output("X_new"), output("V_new", "is wrong")]
        cases = [case(f"test_{name}", clauses=(f"adam.{name}",)) for name in names]
        groups = found(*(failure(each.case, outputs=wrong) for each in cases), cases=cases)
        assert [group.clause for group in groups] == expected
        assert sum(len(group.cases) for group in groups) == len(names)

    def test_number_of_wrong_elements_does_not_divide_a_group(self):
        bad = [output("X1_new", f"has {n} wrong of 9 elements", first_bad=BAD, wrong=n) for n in (1, 2)]
        (group,) = found(failure("test_a", outputs=[bad[0]]), failure("test_b", outputs=[bad[1]]))
        assert group.text == "X_new has wrong elements"

    @pytest.mark.parametrize(
        ("faults", "parts"),
        [
            # one fault in two types and two versions, with errors of several sizes
            ([("float", 13, ["far"]), ("double", 13, ["rough"]), ("float", 11, ["far"])], [[0, 1, 2]]),
            ([("float", 13, ["zero"]), ("float", 13, ["far"]), ("float", 13, ["sign"])], [[0, 1, 2]]),
            # two faults: other differences, or neither a type nor a version in common
            ([("float", 13, ["nan"]), ("float", 13, ["far"])], [[0], [1]]),
            ([("float", 13, ["nan"]), ("float", 13, ["far"]), ("float", 13, ["far", "nan"])], [[0, 1, 2]]),
            ([("float", 13, ["near"]), ("float", 13, ["far"])], [[0], [1]]),
            ([("float", 13, ["number"]), ("float", 13, ["nan"])], [[0], [1]]),
            ([("float16", 13, ["far"]), ("double", 11, ["far"])], [[0], [1]]),
            ([("float16", 13, ["far"]), ("double", 11, ["far"]), ("double", 13, ["far"])], [[0, 1, 2]]),
            ([("float", 13, []), ("float", 13, ["nan"])], [[0, 1]]),
        ],
    )
    def test_wrong_outputs_without_a_common_trait_are_two_causes(self, faults, parts):
        cases, results = [], []
        for number, (type, opset, kinds) in enumerate(faults):
            model = {"nodes": [{"op_type": "ArgMax"}], "opset_imports": {"ai.onnx": opset}}
            cases.append(make_case(case=f"test_{number}", clauses=["argmax.index"], tags=[type], model=model))
            violation = {"kind": "elements", "count": 1, "of": 2}
            wrong = output("index", violation, first_bad=BAD, wrong_kinds=kinds)
            results.append(failure(f"test_{number}", outputs=[wrong]))
        groups = found(*results, cases=cases)
        assert sorted([int(name[5:]) for name in group.cases] for group in groups) == parts
        assert len({group.text for group in groups}) == len(parts)

    @pytest.mark.parametrize(("shapes", "count"), [(("[1]", "[2]"), 1), (("[1]", "[]"), 1), (("[5]", "[]"), 2)])
    def test_wrong_rank_and_wrong_size_are_two_causes(self, shapes, count):
        expected = {"[1]": "[]", "[2]": "[]", "[]": "[1]", "[5]": "[4]"}
        wrong = [{"kind": "output_shape", "expected": expected[shape], "actual": shape} for shape in shapes]
        results = [failure(f"test_{n}", outputs=[output("y", each, actual=PREVIEW)]) for n, each in enumerate(wrong)]
        assert len(found(*results)) == count

    def test_nodes_of_models_form_one_group_per_operator(self):
        gelu, relu, region = ("Gelu", "model", "float"), ("Relu", "model", "float"), ("Add", "Gelu", "model", "region")
        tags = {"test_a": gelu, "test_b": relu, "test_c": gelu, "test_d": region, "test_e": ("Add", "Relu", "Exp")}
        cases = [
            make_case(
                case=id,
                clauses=[],
                tags=list(own),
                model={"nodes": [{"op_type": tag} for tag in own if tag[0].isupper()]},
            )
            for id, own in tags.items()
        ]
        wrong = {id: output(f"y{n}", f"has {n} wrong of 9 elements", first_bad=BAD) for n, id in enumerate(tags)}
        results = [failure(id, outputs=[wrong[id]]) for id in tags]
        assert [(group.sentence, group.cases) for group in found(*results, cases=cases)] == [
            ("Gelu: an output has wrong elements", ("test_a", "test_c", "test_d")),
            ("Relu: an output has wrong elements", ("test_b", "test_e")),
        ]
        (group,) = found(results[3], cases=cases)
        assert group.sentence == "Add-Gelu: an output has wrong elements"

    def test_wrong_type_forms_one_group_over_all_clauses(self):
        wrong = [output("X_new", "has type double instead of float", actual=PREVIEW)]
        other = case("test_b", clauses=("adam.elementwise",))
        (group,) = found(failure("test_a", outputs=wrong), failure("test_b", outputs=wrong), cases=[other])
        assert (group.text, group.clause, group.check) == ("an output has type double instead of float", None, None)

    def test_wrong_values_of_one_output_in_several_places_form_one_group(self):
        names = ("X_new", "X1_new", "X1_new_captured", "X_new_if_loop", "X2_new_later_if")
        outputs = [[output(name, "has 1 wrong of 9 elements", first_bad=BAD, wrong=1)] for name in names]
        (group,) = found(*(failure(f"test_{n}", outputs=wrong) for n, wrong in enumerate(outputs)))
        assert (group.text, len(group.cases)) == ("X_new has wrong elements", 5)

    def test_wrong_outputs_of_any_name_form_one_group(self):
        cases = [case(f"test_{n}", clauses=("adam.value_names",)) for n in range(2)]
        outputs = [[output(name, "has 1 wrong of 9 elements", first_bad=BAD)] for name in ("value/X_new", "vvv")]
        results = [failure(each.case, outputs=wrong) for each, wrong in zip(cases, outputs, strict=True)]
        (group,) = found(*results, cases=cases)
        assert group.sentence == "adam.value_names, bound: an output has wrong elements"

    def test_accepted_invalid_models_form_one_group_over_all_clauses(self):
        cases = [case(f"test_{n}", clauses=(f"adam.{n}",), kind="invalid") for n in range(3)]
        accepted = [failure(each.case, outputs=[]) for each in cases]
        (group,) = found(*accepted, cases=cases)
        assert (group.clause, len(group.cases)) == (None, 3)

    def test_collections_and_attributes_in_a_message_do_not_divide_a_group(self):
        messages = ("no attribute 'beta' in {'alpha': 1} and ['axis']", "no attribute 'alpha' in {'mode': 'a'} and []")
        raised = [failure(f"test_{n}", verdict="error", message=text, outputs=[]) for n, text in enumerate(messages)]
        assert len(found(*raised)) == 1

    def test_wrong_shape_of_outputs_that_pass_an_index_on_forms_one_group(self):
        outputs = [
            {**output(name, {"kind": "output_shape", "actual": f"[{size}]"}, actual=PREVIEW), "check": check}
            for size, (name, check) in enumerate((("index", "exact"), ("index_if", "index"), ("index_same", "exact")))
        ]
        (group,) = found(*(failure(f"test_{n}", outputs=[one]) for n, one in enumerate(outputs)))
        assert len(group.cases) == 3

    def test_error_forms_one_group_over_all_clauses(self):
        raised = {"verdict": "error", "phase": "run", "message": "no kernel 7", "outputs": []}
        others = case("test_b", clauses=("momentum.x_new",))
        (group,) = found(failure("test_a", **raised), failure("test_b", **raised), cases=[others])
        assert (group.text, group.message) == ("no kernel N", "no kernel 7")

    def test_error_with_several_numbers_shows_the_signature(self):
        raised = {"verdict": "error", "phase": "run", "outputs": []}
        (group,) = found(*(failure(f"test_{n}", message=f"no kernel {n}", **raised) for n in range(3)))
        assert (group.text, group.message) == ("no kernel N", "")

    def test_case_id_in_a_message_does_not_divide_a_group(self):
        raised = {"verdict": "error", "phase": "load", "outputs": []}
        (group,) = found(*(failure(name, message=f"no room for {name}", **raised) for name in ("test_a", "test_b")))
        assert (group.sentence, group.cases) == ("error: no room for CASE", ("test_a", "test_b"))

    def test_optimizer_failures_are_grouped_by_their_strongest_check(self):
        check = {"name": "mutation", "run": "once", "level": "must", "violation": {"kind": "caller_model"}}
        weaker = {"name": "structure", "run": "once", "level": "should", "violation": of_sentence("other")}
        results = [
            failure("test_a", checks=[weaker, check], message="mutation: the caller's model is changed (and 1 more)"),
            failure("test_b", checks=[check], message="mutation: the caller's model is changed"),
        ]
        (group,) = found(*results)
        assert group.sentence == "mutation: the caller's model is changed"

    @pytest.mark.parametrize(
        ("one", "other", "common"),
        [
            (gone("Log", "a"), gone("Exp", "b"), True),
            (gone("Log", "a"), gone("Log", "a", detail="another reason"), False),
            (gone("Log", "a"), gone("Log", "b/c", in_subgraph=True), False),
            (Violation(Kind.VALUE_TYPE, "input", "x"), Violation(Kind.VALUE_TYPE_FIELD, "output", "y"), True),
            (Violation(Kind.ANSWER_VALUES, place="y"), Violation(Kind.ANSWER_VALUES, place="z", data_set=3), True),
            (Violation(Kind.ANSWER_VALUES, place="y"), Violation(Kind.ANSWER_SHAPE, place="y"), False),
            (metadata_gone("k/e/y", "the graph"), metadata_gone("other", "the graph"), True),
            (metadata_gone("key", "the graph"), metadata_gone("key", "the model"), False),
            (metadata_gone("a", "the graph"), Violation(Kind.TEXT_GONE, "a", place_kind="the graph"), False),
            (Violation(Kind.ENTRY_GONE, "initializer"), Violation(Kind.ENTRY_GONE, "sparse initializer"), False),
            (Violation(Kind.TRAINING_GONE), Violation(Kind.TRAINING_CHANGED, detail="a"), True),
            (Violation(Kind.INVALID_MODEL, detail="node 7"), Violation(Kind.INVALID_MODEL, detail="node 8"), True),
        ],
    )
    def test_cause_keeps_field_and_scope_only(self, one, other, common):
        assert (one.cause == other.cause) is common

    @pytest.mark.parametrize("kind", Kind)
    def test_each_kind_has_a_sentence_and_a_cause(self, kind):
        violation = Violation(kind, "field", "place", "kind", "1", "2", count=3, of=4, data_set=5, detail="detail")
        assert str(violation)
        assert violation.cause

    def test_structure_is_closer_to_the_cause_than_answers(self):
        checks = [
            {"name": name, "run": "once", "level": level, "violation": of_sentence("x")}
            for name, level in (("answers", "must"), ("structure", "must"), ("preservation", "should"))
        ]
        assert first_violation(make_result(checks=checks)).name == "structure"
        assert first_violation(make_result(checks=checks[::2])).name == "answers"

    def test_long_message_keeps_its_end(self):
        start, end = "Fatal error", "Unsupported model IR version: N"
        message = f"{start} {'in a node ' * 100}{end.replace('N', '11')}"
        signature = normalize_message(message)
        assert (signature.startswith(start), signature.endswith(end)) == (True, True)
        assert len(signature) < len(message)

    def test_counters_in_a_name_do_not_divide_a_group(self):
        texts = (f"cannot load graph part_{number}_0" for number in (3, 51))
        assert len({normalize_message(text) for text in texts}) == 1

    def test_first_line_with_a_colon_is_followed_by_the_last_line(self):
        message = "cannot load:\nat line 5\nno such file\n"
        assert normalize_message(message) == "cannot load: no such file"
        assert normalize_message(message.replace(":", "")) == "cannot load"

    def test_list_of_types_in_random_order_does_not_divide_a_group(self):
        types = ["tensor(float)", "seq(tensor(int64))", "tensor(bool)", "tensor(uint8)", "seq(tensor(string))"]
        texts = (f"inferred types: {','.join(order)}" for order in (types, types[::-1], types[1:]))
        assert len({normalize_message(text) for text in texts}) == 1

    def test_unexpected_pass_is_grouped_by_the_expectation(self):
        expected = {"verdict": "fail", "reason": "known", "location": "acme.toml:3"}
        (group,) = found(failure("test_a", verdict="pass", message="", outputs=[], expected=expected))
        assert group.text == "acme.toml expects fail"

    def test_unexpected_passes_of_one_file_form_one_group(self):
        results = [
            failure(
                f"test_{n}",
                verdict="pass",
                message="",
                outputs=[],
                expected={"verdict": "fail", "reason": "known", "location": f"acme.toml:{n}"},
            )
            for n in range(3)
        ]
        assert [len(group.cases) for group in found(*results)] == [3]

    def test_subjects_do_not_share_groups(self):
        assert len(found(failure("test_a"), failure("test_a", subject="other"))) == 2


class TestDiagnoses:
    @pytest.mark.parametrize("count", [1, 2, 3])
    def test_group_with_most_cases_comes_first_and_of_equal_ones_the_diagnosed(self, count):
        others = [failure(f"test_{n}") for n in range(count)]
        explained = [failure("test_x"), failure("test_y", outputs=[output("V_new", "is wrong")])]
        groups = found(*others, *explained, diagnoses=[DIAGNOSIS])
        expected = [("test_x", "test_y"), tuple(f"test_{n}" for n in range(count))]
        assert [group.cases for group in groups] == (expected[::-1] if count > 2 else expected)
        diagnosed = groups[count > 2]
        assert diagnosed.text == mutant_sentence(DIAGNOSIS)
        assert diagnosed.also_explained == 0

    def test_group_counts_explained_cases_that_are_not_unexpected(self):
        (group,) = found(failure("test_x"), diagnoses=[replace(DIAGNOSIS, cases=["test_x", "test_y", "test_z"])])
        assert (group.cases, group.also_explained) == (("test_x",), 2)

    def test_rest_of_a_diagnosed_group_has_evidence(self):
        results = [failure(f"test_{n:02}") for n in range(40)]
        explained = [f"test_{n:02}" for n in range(30)]
        groups = found(*results, diagnoses=[replace(DIAGNOSIS, cases=explained)])
        assert [len(group.smallest) for group in groups] == [EVIDENCE_CASES] * 2

    def test_not_examined_lists_failing_cases_without_a_record(self):
        records = Diagnosed(
            [replace(DIAGNOSIS, cases=["a"])], [UnexplainedRecord("acme", "Adam", "wrong values", ["b"], 2, 0, [])]
        )
        failing = {"acme": ["a", "b", "c"], "other": ["d"], "third": []}
        assert not_examined(records, failing) == {"acme": ["c"], "other": ["d"]}
        assert not_examined(Diagnosed([], []), failing) == {}

    def test_record_of_known_failures_alone_is_left_out(self):
        groups = found(failure("test_b"))
        left = [
            UnexplainedRecord(groups[0].subject, "Adam", "wrong values", [*own], 3, 0, [])
            for own in (["test_a", "test_b"], ["test_c"])
        ]
        assert [each.cases for each in unexpected_records(left, groups)] == [["test_a", "test_b"]]

    def test_diagnosis_of_another_subject_is_ignored(self):
        (group,) = found(failure("test_a"), diagnoses=[replace(DIAGNOSIS, subject="another subject", cases=["test_a"])])
        assert group.diagnosis is None


class TestOrder:
    def test_group_lists_small_cases_first_and_keeps_some_evidence(self):
        cases = [case(f"test_{n}", elements=10 - n) for n in range(6)]
        (group,) = found(*(failure(each.case) for each in cases), cases=cases)
        assert group.cases == tuple(f"test_{n}" for n in reversed(range(6)))
        assert [shown.case.case for shown in group.smallest] == list(group.cases[:EVIDENCE_CASES])

    def test_format_group_counts_has_groups_and_cases(self):
        assert format_group_counts([("test_a", "test_b")]) == "1 cause, 2 cases"


@pytest.mark.parametrize(
    ("mode", "clause"), [("nesterov", "momentum.x_new_nesterov"), ("standard", "momentum.x_new_standard")]
)
def test_violated_clause_is_about_the_mode_of_the_node(mode, clause):
    nodes = [{"attributes": {"mode": mode}}, {"attributes": {}}]
    case = make_case(clauses=["momentum.x_new_standard"], model={"nodes": nodes})
    assert violated_clauses(case, [OutputEvidence(0, "X_new", "bound", violation=Violation(Kind.NO_ARRAY))]) == (
        clause,
    )


@pytest.mark.parametrize(
    ("operator", "clauses", "wrong", "expected"),
    [
        ("adam", ("x_final", "epsilon_default", "attribute_type"), "V1_new", ("attribute_type",)),
        ("adam", ("x_final",), "V_new", ("v_new",)),
        ("adagrad", ("h_new", "h_adaptive"), "X_new", ("h_adaptive",)),
        ("momentum", ("mode", "operands"), "V_new", ("operands",)),
    ],
)
def test_violated_clause_is_about_the_wrong_output(operator, clauses, wrong, expected):
    case = make_case(clauses=[f"{operator}.{name}" for name in clauses], model={"nodes": [{}]})
    outputs = [
        OutputEvidence(0, wrong, "bound", violation=Violation(Kind.NO_ARRAY)),
        OutputEvidence(0, "X2_new", "bound"),
    ]
    assert violated_clauses(case, outputs) == tuple(f"{operator}.{name}" for name in expected)


@pytest.mark.parametrize(("wrong", "expected"), [("last", "select_last_index"), ("first", "first_index")])
def test_violated_clause_is_about_the_attributes_of_the_node(wrong, expected):
    nodes = [{"op_type": "ArgMax", "outputs": ["first"], "attributes": {}}]
    nodes.append({"op_type": "ArgMax", "outputs": ["last"], "attributes": {"select_last_index": 1, "axis": 1}})
    clauses = ["argmax.first_index", "argmax.select_last_index", "argmax.negative_axis"]
    case = make_case(clauses=clauses, model={"nodes": nodes})
    output = OutputEvidence(0, wrong, "index", violation=Violation(Kind.NO_ARRAY))
    assert violated_clauses(case, [output]) == (f"argmax.{expected}",)


def test_clause_of_a_diagnosed_group_is_that_of_the_mutant():
    (group,) = found(failure("test_a"), diagnoses=[replace(DIAGNOSIS, cases=["test_a"], clause="adam.h_sqrt")])
    assert group.clause == "adam.h_sqrt"


@pytest.mark.parametrize(
    ("operators", "clauses", "expected"),
    [
        (("LogSoftmax", "ArgMax"), ["monotone.valid", "monotone.exp"], ("monotone.log_softmax",)),
        (("Neg", "ArgMax"), ["monotone.other_producer"], ("argmax.index",)),
        (("Exp", "ArgMax"), ["monotone.names"], ("monotone.names",)),
    ],
)
def test_backend_violates_a_clause_about_operators_in_a_case_of_a_pass(operators, clauses, expected):
    given = make_case(kind="pass", clauses=clauses, model={"nodes": [{"op_type": name} for name in operators]})
    outputs = [OutputEvidence(0, "index", "index", violation=Violation(Kind.NO_ARRAY))]
    assert violated_clauses(given, outputs) == expected
    assert given.title_on("optimizer") == given.title
    assert (given.title_on("backend") == given.title) == (clauses[0] == "monotone.names")
