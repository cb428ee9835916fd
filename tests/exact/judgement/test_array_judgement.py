"""Judgement of arrays by the public functions: elements, types, shapes, models and arrays of other libraries."""

from __future__ import annotations

import math
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from conformance import ConformanceError, assert_conforms, evaluate, judge

if TYPE_CHECKING:
    from pathlib import Path

X = np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32)
LIST_IN_ITSELF: list[Any] = []
LIST_IN_ITSELF.append(LIST_IN_ITSELF)


def softmax(x: Any) -> Any:
    power = np.exp(x - x.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


Y = softmax(X)


def changed(array: Any, index: Any, value: float) -> Any:
    copy = array.copy()
    copy[index] = value
    return copy


def two_nodes() -> onnx.ModelProto:
    """Return the model Z = Relu(X + B) with an initializer B."""
    graph = helper.make_graph(
        [helper.make_node("Add", ["X", "B"], ["S"]), helper.make_node("Relu", ["S"], ["Z"])],
        "two",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, 5])],
        [helper.make_tensor_value_info("Z", TensorProto.FLOAT, [None, 5])],
        [onnx.numpy_helper.from_array(np.ones(5, np.float32), "B")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


Z = np.maximum(X + np.float32(1), 0)


class TestElements:
    def test_right_output_is_admissible_and_all_elements_are_judged(self):
        judgement = judge("Softmax", [X], [Y], axis=-1, opset=22)
        assert judgement
        assert (judgement.verdict, judgement.elements, judgement.judged) == ("admissible", 20, 20)
        assert judgement.title == "Softmax-13"

    def test_wrong_element_has_index_values_bound_level_and_passage(self):
        judgement = judge("Softmax", [X], [changed(Y, (1, 2), 0.5)], axis=-1, opset=22)
        assert not judgement
        (element,) = judgement.wrong_elements
        assert (element.output, element.index, element.value, element.level) == ("output", (1, 2), 0.5, "must")
        assert math.isclose(element.expected, Y[1, 2], rel_tol=1e-6)
        assert 0 < element.bound < 1e-5
        assert element.passage.split()[2] == "Softmax-13,"
        assert "input = [" in str(judgement)

    def test_text_has_the_source_of_a_bound_and_an_operand_once(self):
        judgement = judge("Softmax", [X], [Y * 2])
        first, *others = judgement.wrong_elements
        assert others
        assert str(judgement).count(first.source) == str(judgement).count(first.operands[0]) == 1

    def test_element_outside_of_should_only_is_wrong_at_this_level(self):
        (output,) = evaluate("Softmax", [X])
        wide = np.asarray(output.upper)
        assert judge("Softmax", [X], [wide])
        strict = judge("Softmax", [X], [wide], level="should")
        assert strict.wrong > 0
        assert {element.level for element in strict.wrong_elements} == {"should"}

    @pytest.mark.parametrize("wrong", [Y.astype(np.float16), Y[:2], Y.reshape(5, 4)], ids=["type", "size", "shape"])
    def test_other_type_or_shape_is_a_fault(self, wrong):
        judgement = judge("Softmax", [X], [wrong])
        assert judgement.verdict == "wrong"
        assert len(judgement.faults) == 1

    def test_nan_everywhere_is_wrong(self):
        assert judge("Softmax", [X], [np.full_like(Y, np.nan)]).wrong == 20

    def test_number_of_described_elements_is_limited_and_all_are_counted(self):
        large = np.ones((30, 30), np.float32)
        judgement = judge("Relu", [large], [large * 2])
        assert judgement.wrong == 900
        assert len(judgement.wrong_elements) == 100

    def test_output_that_no_element_determines_is_not_judged_and_false(self):
        zeros = np.zeros(3, np.int32)
        judgement = judge("Div", [zeros + 1, zeros], [zeros])
        assert (judgement.verdict, bool(judgement)) == ("not judged", False)
        assert sum(judgement.not_judged.values()) == 3

    def test_empty_output_is_admissible_by_type_and_shape(self):
        empty = np.zeros((0, 5), np.float32)
        assert judge("Relu", [empty], [empty])
        assert not judge("Relu", [empty], [empty.astype(np.float64)])

    def test_sample_counts_the_elements_that_it_leaves_out(self):
        judgement = judge("Softmax", [np.tile(X, (100, 1))], [np.tile(Y, (100, 1))], max_elements=200)
        assert judgement
        assert judgement.not_judged["left out of the sample"] == judgement.elements - judgement.judged > 1000

    def test_wrong_element_outside_of_the_sample_leaves_the_judgement_incomplete(self):
        rows = np.tile(X, (100, 1))
        right = np.tile(Y, (100, 1))
        found = [
            judge("Softmax", [rows], [changed(right, (row, 0), 0.123)], max_elements=200) for row in range(0, 400, 40)
        ]
        missed = [each for each in found if each]
        assert missed
        assert all(each.not_judged["left out of the sample"] for each in missed)
        assert all(each.judged < each.elements for each in missed)

    def test_tensor_without_independent_axes_does_not_keep_others_whole(self):
        image = np.random.default_rng(1).standard_normal((1, 4, 30, 30)).astype(np.float32)
        kernel = np.ones((40, 4, 1, 1), np.float32)
        result = np.repeat(image.sum(1, keepdims=True), 40, 1)
        judgement = judge("Conv", [image, kernel], [result], max_elements=2000)
        assert judgement
        assert 0 < judgement.judged < judgement.elements / 4

    def test_wrong_text_is_described_as_text(self):
        words = np.array(["a", "b"])
        (element,) = judge("Identity", [words], [np.array(["a", "c"])]).wrong_elements
        assert (element.value, element.expected) == ("c", "b")

    def test_elements_of_a_sequence_that_nothing_determines_are_not_judged(self):
        zeros = np.zeros(3, np.int32)
        nodes = [helper.make_node("Div", ["a", "b"], ["c"]), helper.make_node("SequenceConstruct", ["c"], ["s"])]
        values = [helper.make_tensor_value_info(name, TensorProto.INT32, [3]) for name in "ab"]
        outputs = [helper.make_tensor_sequence_value_info("s", TensorProto.INT32, [3])]
        model = helper.make_model(
            helper.make_graph(nodes, "g", values, outputs), opset_imports=[helper.make_opsetid("", 18)]
        )
        assert judge(model, [zeros + 1, zeros + 1], [[zeros + 1]]).judged == 3
        assert not judge(model, [zeros + 1, zeros], [[zeros + 7]])

    def test_operator_without_reference_is_not_judged_with_a_reason(self):
        judgement = judge("com.microsoft.NoSuch", [X], [X])
        assert not judgement
        assert not judgement.is_wrong
        assert any("NoSuch" in reason for reason in judgement.not_judged)

    def test_judgement_has_the_smallest_error_that_would_be_wrong(self):
        exact = np.ones((1, 1000), np.float32)
        wide = np.random.default_rng(0).standard_normal((1, 1000)).astype(np.float32)
        axes = np.array([1])
        first, second = (judge("ReduceSum", [each, axes], [each.sum(1, keepdims=True)]) for each in (exact, wide))
        assert (first.terms, second.terms) == (1000, 1000)
        assert first.noticed < 1e-6 < second.noticed
        for factor in (0.5, 2):
            changed_sum = wide.sum(1, keepdims=True) * np.float32(1 + factor * second.noticed)
            assert judge("ReduceSum", [wide, axes], [changed_sum]).is_wrong == (factor > 1)
        assert not judge("Relu", [X], [np.maximum(X, 0)]).noticed


class TestOperators:
    def test_outputs_are_given_by_name_and_none_leaves_one_out(self):
        values = np.sort(X)[:, ::-1][:, :2]
        given = [X, np.array([2], np.int64)]
        assert judge("TopK", given, {"Values": values, "Indices": None})
        assert not judge("TopK", given, {"Values": values + 1, "Indices": None})

    def test_inputs_are_given_by_name_and_optional_ones_left_out(self):
        kernel = np.ones((1, 1, 3, 3), np.float32)
        image = np.ones((1, 1, 5, 5), np.float32)
        result = np.full((1, 1, 3, 3), 9, np.float32)
        assert judge("Conv", {"X": image, "W": kernel}, [result])
        assert judge("Conv", [image, kernel, None], [result])

    def test_variadic_inputs_are_given_in_order(self):
        assert judge("Concat", [X, X, X], [np.concatenate([X, X, X])], axis=0)

    def test_gelu_by_the_formula_of_vector_libraries_is_admissible(self):
        x = np.linspace(-3, 3, 500, dtype=np.float32)
        u = np.abs(x * np.float32(0.70710678))
        t = 1 / (1 + np.float32(0.3275911) * u)
        factors = np.array([1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592], np.float32)
        error = 1 - np.polyval(factors, t) * t * np.exp(-u * u)
        gelu = np.float32(0.5) * x * (1 + np.copysign(error, x))
        assert judge("Gelu", [x], [gelu])
        assert judge("Gelu", [x], [gelu.astype(np.float16).astype(np.float32)]).wrong > 400

    def test_softmax_in_base_2_with_a_factor_of_float_is_admissible(self):
        x = np.random.default_rng(5).uniform(-90, 0, (4000, 3)).astype(np.float32)
        x[0] = [-23.7249203, -254.435669, -87.1015778]
        power = np.exp2((x - x.max(-1, keepdims=True)) * np.float32(np.log2(np.e)))
        assert judge("Softmax", [x], [power / power.sum(-1, keepdims=True)])

    def test_gemm_whose_terms_overflow_before_an_infinity_is_undetermined(self):
        a = np.array([[1, 1]], np.float32)
        b = np.array([[-2e38], [np.inf]], np.float32)
        for given in (np.nan, np.inf):
            judgement = judge("Gemm", [a, b, np.float32(-3e38)], [np.array([[given]], np.float32)])
            assert judgement.verdict == "not judged"
        assert judge("Gemm", [a, b, np.float32(3)], [np.array([[np.nan]], np.float32)]).wrong == 1

    @pytest.mark.parametrize(
        ("indices", "is_wrong"),
        [
            ([2, 8], False),  # the order of each matrix, behind the elements of the first matrix
            ([4, 5], False),  # the order of the whole tensor
            ([2, 2], True),
            ([1, 8], True),
        ],
    )
    def test_column_major_order_counts_the_elements_of_all_matrices(self, indices: list[int], is_wrong: bool):
        x = np.zeros((1, 2, 2, 3), np.float32)
        x[..., 0, 1] = 1
        outputs = [np.ones((1, 2, 1, 1), np.float32), np.reshape(indices, (1, 2, 1, 1))]
        assert judge("MaxPool", [x], outputs, kernel_shape=[2, 3], storage_order=1).is_wrong == is_wrong

    def test_list_is_a_sequence(self):
        assert judge("SequenceAt", [[X, Y], np.int64(1)], [Y])
        assert not judge("SequenceAt", [[X, Y], np.int64(1)], [X])
        assert judge("SequenceConstruct", [X, Y], [[X, Y]])
        assert judge("SequenceConstruct", [X, Y], [[X, X]]).wrong == X.size
        assert judge("SequenceConstruct", [X, Y], [[X]]).faults

    def test_operator_of_another_domain_has_its_name_before_it(self):
        bias = np.zeros(5, np.float32)
        (expected,) = evaluate("com.microsoft.BiasGelu", [X, bias])
        assert judge("com.microsoft.BiasGelu", [X, bias], [np.asarray(expected.value)])

    @pytest.mark.parametrize(
        ("arguments", "attributes", "code"),
        [
            (("Softmx", [X], [Y]), {}, "name.operator"),
            (("Gelu", [X], [Y]), {"opset": 13}, "usage.opset-too-old"),
            (("model.onnx", [X], [Y]), {}, "usage.path-as-text"),
            (("acme.Softmax", [X], [Y]), {}, "name.domain"),
            (("Softmax", [X], [Y]), {"axs": 1}, "name.attribute"),
            (("Softmax", {"x": X}, [Y]), {}, "name.value"),
            (("Softmax", [X], [Y]), {"axis": 7}, "usage.call-invalid"),
            (("Softmax", [X], [Y]), {"axis": "last"}, "usage.argument"),
            (("Softmax", [X], [Y]), {"axis": 1.5}, "usage.argument"),
            (("ReduceSum", [X], [Y]), {"keepdims": [1]}, "usage.argument"),
            (("Add", [X], [Y]), {}, "usage.value-missing"),
            (("Softmax", [X, X], [Y]), {}, "usage.value-count"),
            (("Softmax", [X], [Y, Y]), {}, "usage.value-count"),
            (("Softmax", [X], [1.0]), {}, "usage.not-an-array"),
            (("Softmax", [X], [LIST_IN_ITSELF]), {}, "usage.not-an-array"),
            (("Softmax", [np.zeros(2, object)], [object()]), {}, "usage.not-an-array"),
            (("com.microsoft.BiasGelu", {"A": X}, [Y]), {}, "usage.names-unknown"),
            ((two_nodes(), {"X": X}, {}), {}, "usage.value-missing"),
            ((two_nodes(), {}, {"Z": Z}), {}, "usage.value-missing"),
            ((two_nodes(), [X[:, :4]], [Z]), {}, "usage.call-invalid"),
            ((two_nodes(), [X], [Z]), {"axis": 1}, "usage.attributes-of-model"),
            ((b"\xff\xff", [X], [Z]), {}, "usage.not-a-model"),
            ((b"", [X], [Z]), {}, "usage.not-a-model"),
            ((3, [X], [Z]), {}, "usage.argument"),
            (("Relu", [X], [Z]), {"axis": 1}, "name.attribute"),
            (("Relu", [X], [Z]), {"opset": "22"}, "usage.argument"),
            (("Relu", [X], [Z]), {"opset": 999}, "usage.call-invalid"),
            (("Relu", [X], [Z]), {"max_elements": 0}, "usage.argument"),
            (("Relu", [X], [Z]), {"level": "may"}, "name.value"),
            (("Re\udc80lu", [X], [Z]), {}, "name.operator"),
            (("SequenceConstruct", [X], [[{"a": None}]]), {}, "usage.not-an-array"),
        ],
    )
    def test_wrong_call_raises_an_error_with_a_code(self, arguments, attributes, code):
        with pytest.raises(ConformanceError) as error:
            judge(*arguments, **attributes)
        assert error.value.code == code

    def test_option_has_the_name_of_no_attribute(self):
        own = {"opset", "level", "max_elements", "output_count", "count", "types", "like", "where", "salt", "convert"}
        clashes = {
            (schema.name, name)
            for schema in onnx.defs.get_all_schemas_with_history()
            for name in own & schema.attributes.keys()
        }
        assert not clashes


class TestRanges:
    """Results beyond the range of a function are wrong, whatever the accuracy of the function."""

    @pytest.mark.parametrize(
        ("operator", "x", "beyond"),
        [("Tanh", 20, 1 + 2**-21), ("Sigmoid", 30, 1 + 2**-21), ("Erf", -5, -1 - 2**-20), ("Cos", 0, 1 + 2**-21)],
    )
    def test_result_beyond_the_range_is_wrong(self, operator: str, x: float, beyond: float) -> None:
        judgement = judge(operator, [np.float32([x])], [np.float32([beyond])])
        assert judgement.wrong_elements[0].bound < abs(beyond - judgement.wrong_elements[0].expected)
        upper = evaluate(operator, [np.float32([abs(x)])])[0].upper.item()
        assert upper == 1 + 2**-22

    def test_sigmoid_of_clamped_operands_is_wrong_at_should_only(self) -> None:
        x = np.linspace(-30, 30, 4_001, dtype=np.float32)
        y = 1 / (1 + np.exp(-np.clip(x, -18, 18)))
        assert judge("Sigmoid", [x], [y])
        assert judge("Sigmoid", [x], [y], level="should").wrong == np.count_nonzero(x < -18)

    def test_forms_of_tanh_whose_steps_round_are_admissible(self) -> None:
        x = np.linspace(-30, 30, 20_001, dtype=np.float32)
        power = np.exp(np.float32(2) * x)
        sigmoid = np.minimum(np.float32(1) / (1 + np.exp(np.float32(-2) * x)) + np.float32(2**-23), 1 + 2**-23)
        assert judge("Tanh", [x[x > 1]], [((power - 1) / (power + 1))[x > 1]])
        assert judge("Tanh", [x[x > 1]], [(2 * sigmoid.astype(np.float32) - 1)[x > 1]])

    def test_negative_sum_of_squares_is_wrong_where_the_bound_exceeds_the_sum(self) -> None:
        x = np.full((1, 3000), 0.01, np.float16)
        assert judge("ReduceSumSquare", [x], [np.float16([[0]])])
        assert not judge("ReduceSumSquare", [x], [np.float16([[-0.01]])])


class TestModels:
    def test_model_is_judged_as_object_bytes_and_file(self, tmp_path: Path):
        model = two_nodes()
        path = tmp_path / "model.onnx"
        path.write_bytes(model.SerializeToString())
        for given in (model, model.SerializeToString(), path):
            assert judge(given, {"X": X}, {"Z": Z})
            assert judge(given, [X], [changed(Z, (0, 0), 9)]).wrong == 1

    def test_map_is_judged(self):
        scores = np.array([[1, 2]], np.float32)
        labels = {"classlabels_strings": ["a", "b"]}
        assert judge("ai.onnx.ml.ZipMap", [scores], [[{"a": np.float32(1), "b": 2.0}]], **labels)
        assert judge("ai.onnx.ml.ZipMap", [scores], [[{"a": 1.0, "b": 3.0}]], **labels).faults
        words = {"string_vocabulary": ["a", "b"]}
        assert judge("ai.onnx.ml.DictVectorizer", [{"b": 2.0}], [np.array([[0, 2]], np.float32)], **words)

    def test_model_whose_values_are_not_determined_is_refused_or_not_judged(self):
        twice = two_nodes()
        twice.graph.node.append(helper.make_node("Neg", ["S"], ["Z"]))
        newer = two_nodes()
        newer.opset_import[0].version = 999
        for model in (twice, newer):
            with pytest.raises(ConformanceError) as error:
                judge(model, [X], [Z])
            assert error.value.code == "usage.call-invalid"
        without_outputs = two_nodes()
        del without_outputs.graph.output[:]
        assert judge(without_outputs, [X], []).verdict == "not judged"

    def test_bound_is_composed_over_the_nodes(self):
        (element,) = judge(two_nodes(), [X], [changed(Z, (0, 0), 9)]).wrong_elements
        assert element.source.endswith("2 nodes")

    def test_input_that_is_an_output_is_compared(self):
        model = two_nodes()
        model.graph.output.append(model.graph.input[0])
        assert judge(model, [X], {"Z": Z, "X": X})
        assert judge(model, [X], {"Z": Z, "X": X + 1}).wrong == 20

    def test_function_of_the_model_is_evaluated(self):
        model = two_nodes()
        scaled = helper.make_node("Elu", ["a"], ["b"])
        scaled.attribute.append(onnx.AttributeProto(name="alpha", type=TensorProto.FLOAT, ref_attr_name="alpha"))
        opset = [helper.make_opsetid("", 18)]
        model.functions.append(helper.make_function("acme", "Scaled", ["a"], ["b"], [scaled], opset, ["alpha"]))
        model.opset_import.append(helper.make_opsetid("acme", 1))
        model.graph.node[1].CopyFrom(helper.make_node("Scaled", ["S"], ["Z"], domain="acme", alpha=0.0))
        assert judge(model, [X], [Z])
        assert judge(model, [X], [Z + 1]).wrong == 20


class TestText:
    def test_assertion_has_the_text_of_the_judgement(self):
        assert_conforms("Softmax", [X], [Y], axis=-1)
        with pytest.raises(AssertionError) as error:
            assert_conforms("Softmax", [X], [np.zeros_like(Y)], axis=-1)
        assert str(error.value) == str(judge("Softmax", [X], [np.zeros_like(Y)], axis=-1))
        assert len(str(error.value).splitlines()) < 12

    def test_wrong_element_quotes_the_sentence_about_an_attribute_of_the_node(self):
        with pytest.raises(AssertionError, match="select_last_index"):
            assert_conforms("ArgMax", [np.float32([[3, 1, 3]])], [np.array([[0]])], axis=1, select_last_index=1)

    def test_assertion_that_judges_nothing_says_what_to_do(self):
        arrays = [np.float32([np.nan])], [np.float32([0])]
        with pytest.raises(AssertionError) as error:
            assert_conforms("Relu", *arrays)
        assert str(error.value).splitlines()[:-1] == str(judge("Relu", *arrays)).splitlines()

    def test_error_hides_the_lines_of_the_package_from_pytest(self):
        with pytest.raises(AssertionError) as error:
            assert_conforms("Relu", [X], [X])
        shown = [str(each.path) for each in error.traceback if not each.ishidden(error)]
        assert len(shown) == 1
        assert "array_judgement" not in shown[0].replace("test_array_judgement", "")

    def test_html_escapes_texts_and_has_the_wrong_elements(self):
        model = two_nodes()
        model.graph.name = "<script>alert(1)</script>"
        page = judge(model, [X], [Z + 1])._repr_html_()
        found: list[str] = []
        parser = HTMLParser()
        parser.handle_starttag = lambda tag, _: found.append(tag)
        parser.feed(page)
        assert "script" not in found
        assert found.count("tr") == 6


class TestEvaluation:
    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16], ids=str)
    def test_ends_are_admissible_and_the_next_numbers_are_not(self, dtype):
        given = X.astype(dtype)
        (output,) = evaluate("Softmax", [given], axis=-1)
        lower, upper = np.asarray(output.lower), np.asarray(output.upper)
        assert judge("Softmax", [given], [lower])
        assert judge("Softmax", [given], [upper])
        above = np.nextafter(upper, np.asarray(np.inf, dtype))
        below = np.nextafter(lower, np.asarray(-np.inf, dtype))
        assert judge("Softmax", [given], [above]).wrong == judge("Softmax", [given], [below]).wrong == given.size

    def test_ends_of_a_type_without_negative_numbers_are_numbers(self):
        """An operand that is subnormal may be flushed to zero, whose power of two is the smallest one."""
        (output,) = evaluate("Cast", [np.array([8.9e-39], np.float32)], opset=24, to=24)
        assert (float(output.lower[0]), float(output.upper[0])) == (2.0**-127, 2.0**-126)

    def test_value_of_a_sum_is_the_exact_one_rounded_once(self):
        terms = np.array([[1, 1e8, -1e8]], np.float32)
        (output,) = evaluate("ReduceSum", [terms], keepdims=0)
        assert output.value[0] == 1

    def test_unspecified_elements_are_masked(self):
        numbers = np.array([1, 2], np.int32)
        (output,) = evaluate("Div", [numbers, np.array([0, 1], np.int32)])
        assert np.ma.getmaskarray(output.value).tolist() == [True, False]

    def test_integers_have_whole_limits(self):
        (output,) = evaluate("QuantizeLinear", [X, np.float32(0.1), np.uint8(3)])
        assert output.lower.dtype == np.uint8
        assert (output.lower <= output.value).all()
        assert (output.value <= output.upper).all()

    def test_operator_without_reference_is_not_evaluable(self):
        with pytest.raises(ConformanceError) as error:
            evaluate("com.microsoft.NoSuch", [X])
        assert error.value.code == "usage.not-evaluable"

    def test_values_of_a_model_are_admissible(self):
        (output,) = evaluate(two_nodes(), {"X": X})
        assert output.name == "Z"
        assert judge(two_nodes(), [X], [np.asarray(output.value)])


class OnlyDlpack:
    """An array that has nothing but DLPack."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


class OnlyProtocol:
    """An array that has nothing but `__array__`."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self._array


class OnlyNumpyMethod:
    """A tensor with the method `numpy`, as one of tinygrad."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def numpy(self) -> Any:
        return self._array


@pytest.mark.parametrize("wrapper", [OnlyDlpack, OnlyProtocol, OnlyNumpyMethod])
def test_array_of_another_library_is_read(wrapper):
    assert judge("Softmax", [wrapper(X)], [wrapper(Y)])
    assert not judge("Softmax", [wrapper(X)], [wrapper(X)])


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "bfloat16"])
def test_type_of_ml_dtypes_is_judged(dtype):
    to = {"float8_e4m3fn": TensorProto.FLOAT8E4M3FN, "float8_e5m2": TensorProto.FLOAT8E5M2}
    narrow = X.astype(np.dtype(getattr(ml_dtypes, dtype)))
    assert judge("Cast", [X], [narrow], to=to.get(dtype, TensorProto.BFLOAT16))
    assert judge("Identity", [narrow], [narrow])
    assert judge("Identity", [narrow], [narrow[::-1]]).is_wrong


def test_integers_of_four_bits_are_judged():
    small = np.arange(-8, 8).astype(ml_dtypes.int4)
    assert judge("Cast", [small], [np.arange(-8, 8).astype(np.float32)], to=TensorProto.FLOAT)
    assert judge("Cast", [small], [np.arange(-7, 9).astype(np.float32)], to=TensorProto.FLOAT).wrong == 16


def test_bytes_in_the_other_order_and_views_are_read():
    assert judge("Relu", [X.astype(">f4")], [np.maximum(X, 0).astype(">f4")])
    assert judge("Relu", [X[::-1, ::2]], [np.maximum(X, 0)[::-1, ::2]])


@pytest.mark.parametrize("function", [judge, assert_conforms])
def test_unknown_level_is_an_error_with_a_code(function):
    with pytest.raises(ConformanceError) as raised:
        function("Abs", [np.ones(1, np.float32)], [np.ones(1, np.float32)], level="x")
    assert raised.value.code == "name.value"


class Lies:
    """An object that says that it is an array."""

    __class__ = property(lambda _: np.ndarray)  # type: ignore[assignment]


@pytest.mark.parametrize("wrong", [{"axis": Lies()}, {"opset": True}], ids=["axis", "opset"])
def test_argument_of_another_type_is_refused(wrong: Any) -> None:
    with pytest.raises(ConformanceError) as caught:
        judge("Softmax", [X], [Y], **wrong)
    assert caught.value.code == "usage.argument"


LARGE = ("ConstantOfShape", [np.array([2**40])], {}), ("Range", [np.array(each) for each in (0, 2**40, 1)], {})
LONG = "LSTM", [np.ones(shape, np.float32) for shape in ((5000, 1, 1), (1, 4, 1), (1, 4, 1))], {"hidden_size": 1}


ROIS = [np.ones((1, 1, 30, 30), np.float32), np.array([[0, 0, 9, 9]], np.float32), np.zeros(1, np.int64)]
SAMPLES = "RoiAlign", ROIS, {"sampling_ratio": 2**30, "output_height": 2, "output_width": 2}
PIXELS = "RoiAlign", ROIS, {"sampling_ratio": 2**12, "mode": "max"}
GRAMS: Any = {"mode": "TF", "min_gram_length": 2, "max_gram_length": 2**40, "max_skip_count": 2**40}
GRAMS |= {"ngram_counts": [0, 0], "pool_int64s": [1, 1]}
SKIPS = "TfIdfVectorizer", [np.arange(3000)], {**GRAMS, "ngram_indexes": [0]}
FAR = "TfIdfVectorizer", [np.arange(3)], {**GRAMS, "ngram_indexes": [2**40]}
COUNTED = [SAMPLES, PIXELS, SKIPS, FAR]


@pytest.mark.parametrize(("operator", "inputs", "attributes"), [*LARGE, LONG, *COUNTED])
def test_operator_of_enormous_outputs_or_many_steps_is_not_judged(operator: str, inputs: Any, attributes: Any) -> None:
    found = judge(operator, inputs, [np.zeros((5000, 1, 1, 1), np.float32)], **attributes)
    assert found.verdict == "not judged"
    assert [reason.partition(":")[0] for reason in found.not_judged] == ["it is too large"]
    with pytest.raises(ConformanceError) as refusal:
        evaluate(operator, inputs, **attributes)
    assert refusal.value.code == "usage.not-evaluable"


def doubling(count: int) -> onnx.ModelProto:
    """Return a model of nodes that each double their tensor, and of one that sums it."""
    nodes = [helper.make_node("Concat", [f"t{i}", f"t{i}"], [f"t{i + 1}"], axis=0) for i in range(count)]
    nodes.append(helper.make_node("ReduceSum", [f"t{count}"], ["y"], keepdims=0))
    given = [helper.make_tensor_value_info("t0", TensorProto.FLOAT, [2])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])]
    opset = helper.make_opsetid("", 21)
    return helper.make_model(helper.make_graph(nodes, "doubling", given, outputs), opset_imports=[opset], ir_version=10)


def test_values_of_a_model_have_a_limit_of_those_that_are_alive_together(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = [np.ones(2, np.float32)]
    monkeypatch.setattr("conformance.exact.reference.node_enclosures.MAX_OUTPUT_ELEMENTS", 97)  # 32 + 64 and y
    assert judge(doubling(5), inputs, [np.float32(64)]).verdict == "admissible"
    assert judge(doubling(6), inputs, [np.float32(128)]).verdict == "not judged"


@pytest.mark.parametrize(
    "tensor",
    [
        TensorProto(name="B", data_type=1, dims=[-1, -3]),
        TensorProto(name="B", data_type=1, dims=[2**32, 2**32]),
        TensorProto(name="B", data_type=77, dims=[5], raw_data=bytes(20)),
        TensorProto(name="B", data_type=8, dims=[1], string_data=[b"\xff"]),
    ],
    ids=["negative", "overflow", "type", "text"],
)
@pytest.mark.parametrize("form", [lambda model: model, onnx.ModelProto.SerializeToString], ids=["model", "bytes"])
def test_model_with_malformed_tensor_is_refused(tensor: TensorProto, form: Any) -> None:
    model = two_nodes()
    model.graph.initializer[0].CopyFrom(tensor)
    with pytest.raises(ConformanceError):
        judge(form(model), [X], [Z])


@pytest.mark.parametrize("row", [[1.11e-308], [3e-200, 4e-200]])
def test_norm_of_doubles_whose_squares_underflow_may_be_exact_or_0(row: list[float]) -> None:
    X = np.array([row])
    exact = float(np.linalg.norm(X / X.max()) * X.max())
    assert [judge("ReduceL2", [X], [np.array([[Y]])], axes=[1], opset=13).wrong for Y in (exact, 0.0)] == [0, 0]
    assert judge("ReduceL2", [X], [np.array([[4 * exact]])], axes=[1], opset=13).wrong == 1


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_gelu_by_tanh_is_judged_where_its_third_power_overflows(dtype):
    x = np.array([100, 30000, -100, 3], dtype) if dtype == np.float16 else np.array([1e15, 1e30, -1e20, 3], dtype)
    right = np.where(x > 0, x, 0) * np.where(x == 3, dtype(0.9987876), dtype(1))
    assert judge("Gelu", [x], [right.astype(dtype)], approximate="tanh")
    assert judge("Gelu", [x], [np.full_like(x, np.nan)], approximate="tanh").wrong == 4


def test_cast_of_a_number_out_of_range_is_an_infinity():
    x = np.array([3.4e38, -3.402e38], np.float32)
    infinities = np.array([np.inf, -np.inf], ml_dtypes.bfloat16)
    largest = np.array([3.3895e38, -3.3895e38]).astype(ml_dtypes.bfloat16)
    assert judge("Cast", [x], [infinities], to=16)
    assert judge("Cast", [x], [largest], to=16).wrong == 2


@pytest.mark.parametrize("level", ["must", "should"])
def test_sign_of_a_negative_base_to_a_large_whole_exponent_is_open(level):
    base, exponent = np.array([-2, -2], np.float32), np.array([2**60 + 1, 3], np.uint64)
    for infinite in (np.inf, -np.inf):
        assert judge("Pow", [base, exponent], [np.array([infinite, -8], np.float32)], level=level)
    assert not judge("Pow", [base, exponent], [np.array([np.inf, 8], np.float32)], level=level)


@pytest.mark.parametrize(("row", "is_right"), [([0, 0], True), ([0, np.nan], True), ([1, 0], False)])
def test_masked_value_of_attention_that_is_not_finite_may_be_left_out(row, is_right):
    Q, V = np.ones((1, 1, 2, 2), np.float32), np.array([[[[1, np.inf], [2, 3]]]], np.float32)
    mask = np.array([[False, False], [False, True]])
    given = np.array([row, [2, 3]], np.float32).reshape(1, 1, 2, 2)
    assert bool(judge("Attention", [Q, Q, V, mask], [given], opset=23)) == is_right


def test_quotient_below_the_smallest_double_is_not_an_exact_zero():
    x = np.array([[-1.5, 0.25, 5e-324, 1.2]])
    scaled = x / np.abs(x).max()
    assert judge("LpNormalization", [x], [scaled / np.sqrt((scaled**2).sum())])


@pytest.mark.parametrize(("alpha", "is_right"), [(0.8, True), (np.float32(0.8), True), (0.80000002, False)])
def test_number_of_an_attribute_is_right_in_float_and_as_given(alpha, is_right):
    x = np.array([-1.5, 2, -0.3])
    assert bool(judge("LeakyRelu", [x], [np.where(x < 0, float(alpha) * x, x)], alpha=0.8)) == is_right


def test_number_of_type_float_has_one_reading():
    x = np.array([-1.5, 2, -0.3])
    assert judge("LeakyRelu", [x], [np.where(x < 0, 0.8 * x, x)], alpha=np.float32(0.8)).wrong == 2


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_large_integers_of_evaluate_are_exact(dtype):
    x = np.array([2**53 + 1, np.iinfo(dtype).max, 7], dtype)
    (rest,) = evaluate("Mod", [x, np.array([2**62, 2**62, 0], dtype)])  # a remainder by 0 makes bounds of the output
    for each in (rest.value, rest.lower, rest.upper):
        assert each.dtype == dtype
        assert [int(part) for part in each.data[:2]] == [2**53 + 1, 2**62 - 1]


def test_interval_of_a_large_integer_has_its_value():
    x = np.array([[2**64 - 1, 2**64 - 1], [2**60 + 1, 2**60 + 3]], np.uint64)
    (mean,) = evaluate("ReduceMean", [x, np.array([1])], keepdims=0)
    for value, lower, upper in zip(mean.value.data, mean.lower.data, mean.upper.data, strict=True):
        assert lower <= value <= upper
    assert mean.upper.data[0] == 2**64 - 1
    assert judge("ReduceMean", [x, np.array([1])], [mean.upper.data], keepdims=0)


def test_masked_score_whose_product_overflows_before_it_is_scaled_is_open():
    query = np.array([-1.25, 0, 0.5, 0]).reshape(1, 1, 2, 2)
    key, mask = np.array([-1.79e308, 0, 1, 1]).reshape(1, 1, 2, 2), np.array([[False, True]])
    judgement = judge("Attention", [query, key, np.ones((1, 1, 2, 1)), mask], [np.array([[[[np.nan], [1]]]])], opset=23)
    assert judgement
    assert judgement.judged == 1


@pytest.mark.parametrize("element", [np.nan, np.inf])
def test_masked_score_that_is_not_finite_may_be_added_or_left_out(element):
    query, key, value = (np.ones((2, 1, 2, 2), np.float32) for _ in range(3))
    key[0, 0, 0, 0] = element
    mask = np.array([[-np.inf, -np.inf], [0, -np.inf]], np.float32)
    for row in (0.0, np.nan):
        result = np.ones((2, 1, 2, 2), np.float32)
        result[:, :, 0] = 0
        result[0, :, 0] = row
        assert not judge("Attention", [query, key, value, mask], [result], opset=23).is_wrong
