"""`generate --model` writes cases of the nodes of a model, which detect a fault in one configuration of an operator."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from command_outputs import read_tree
from onnx import TensorProto, helper, numpy_helper
from refusals import assert_bad_input

if TYPE_CHECKING:
    from pathlib import Path

NETWORK = """
<ir_version: 8, opset_import: ["" : 17]>
%(name)s (float[batch, 64, 40, 40] %(X)s) => (float[batch, 10] Y)
<float[64, 16, 3, 3] W, float[64] B, float[64] scale, float[64] shift, float[64] mean, float[64] variance,
 int64[2] shape, float[102400, 10] M, float[10] bias>
{
    plain = Conv <kernel_shape = [1, 1], group = 4> (%(X)s, W1)
    dilated = Conv <kernel_shape = [3, 3], dilations = [2, 2], group = 4, pads = [2, 2, 2, 2]> (plain, W, B)
    normal = BatchNormalization (dilated, scale, shift, mean, variance)
    positive = Relu (normal)
    sum = Add (positive, plain)
    flat = Reshape (sum, shape)
    product = MatMul (flat, M)
    Y = Add (product, bias)
}
"""
"""A network with a Conv of dilation 2 and 4 groups; its weights follow."""

SHAPES = {"W": (64, 16, 3, 3), "W1": (64, 16, 1, 1), "M": (102400, 10), "bias": (10,)} | dict.fromkeys(
    ("B", "scale", "shift", "mean", "variance"), (64,)
)


def write_network(file: Path, seed: int, name: str = "network", given: str = "X") -> Path:
    """Write the network with weights of a seed, and with names."""
    text = NETWORK % {"name": name, "X": given}
    model = onnx.parser.parse_model(text[: text.index("<float[64")] + text[text.index("{") :])
    random = np.random.default_rng(seed)
    weights = {each: random.random(shape, np.float32) for each, shape in SHAPES.items()}
    weights["shape"] = np.array([0, -1])
    model.graph.initializer.extend(numpy_helper.from_array(array, each) for each, array in weights.items())
    model.producer_name = f"{name} of a user"
    onnx.save(model, file)
    return file


@pytest.fixture
def network(here):
    return write_network(here / "network.onnx", 0)


@pytest.fixture
def generated(command, here, network):
    """The corpus of the network."""
    ended = command("generate", "--model", network, "--shape", "batch=1", "--output", "cases")
    assert ended.status == 0
    return here / "cases"


def documents(corpus):
    return [json.loads(file.read_text(encoding="utf-8")) for file in sorted(corpus.glob("node/*/case.json"))]


def test_generate_model_writes_each_distinct_node_and_region(generated):
    found = {"-".join(tag for tag in each["tags"] if tag[0].isupper()): each for each in documents(generated)}
    assert found["Reshape"]["uses"] == 1
    assert found["Conv-BatchNormalization-Relu"]["tags"][-1] == "region"
    assert len(found["Add"]["data_sets"]) > len(found["Relu"]["data_sets"])
    assert sum(each["uses"] for each in documents(generated) if "region" not in each["tags"]) == 8


@pytest.mark.parametrize(
    ("nodes", "tags"),
    [
        ("s = MatMul(X, W) h = Sigmoid(s) Y = Mul(s, h)", {"MatMul", "Sigmoid", "Mul", "region"}),
        ("p = MatMul(X, W) s = Add(p, B) h = Sigmoid(s) Y = Mul(s, h)", {"MatMul", "Add", "Sigmoid", "Mul", "region"}),
        ("i = If(c) <then_branch = a() => (t) {t = Neg(X)}, else_branch = b() => (e) {e = Abs(X)}> Y=Exp(i)", {"Exp"}),
    ],
)
def test_generate_model_writes_regions_that_begin_with_a_product_and_nodes_after_an_if(command, here, nodes, tags):
    weights = "float[2, 2] W = {1, 2, 3, 4}, float[2] B = {1, 2}"
    graph = f"g (bool c, float[3, 2] X) => (float[3, 2] Y) <{weights}> {{ {nodes} }}"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {graph}'), here / "model.onnx")
    assert command("generate", "--model", "model.onnx", "--output", "cases").status == 0
    found = [{tag for tag in each["tags"] if tag[0].isupper() or tag == "region"} for each in documents(here / "cases")]
    assert tags in found


def test_node_of_sequences_and_optionals_has_a_case_with_tensors(command, here):
    text = """<ir_version: 8, opset_import: ["": 18, "own": 1]>
    g (seq(float[2, 3]) S, optional(float[2, 3]) O, int64 n) => (seq(float[1, 3]) R, float[2, 3] Y)
    {
        E = OptionalGetElement(O)
        I = SequenceInsert(S, E)
        one = Constant<value_int = 1>()
        D = SequenceErase(I, one)
        Y = SequenceAt(D, n)
        J = ConcatFromSequence<axis = 0>(D)
        R = SplitToSequence<axis = 0>(J)
        Z = own.WithoutSchema(Y)
    }"""
    onnx.save(onnx.parser.parse_model(text), here / "sequences.onnx")
    assert command("generate", "--model", here / "sequences.onnx", "--output", "cases").status == 0
    found = {each["tags"][0]: each for each in documents(here / "cases")}
    operators = ("OptionalGetElement", "SequenceInsert", "SequenceErase", "SequenceAt", "ConcatFromSequence")
    assert found.keys() == {*operators, "SplitToSequence", "SequenceConstruct", "Optional"}
    shapes = {name: [each["shape"] for each in found[name]["data_sets"][0]["outputs"]] for name in found}
    assert shapes["SequenceErase"] == [[], [2, 3], [2, 3]]
    assert shapes["SplitToSequence"] == [[], *[[1, 3]] * 4]
    assert not any("region" in each["tags"] for each in found.values())
    report = here / "run.json"
    ran = command("run", "--data", "cases", "-b", "reference", "-n", "1", "--no-isolation", "--json", report)
    assert ran.status == 0, ran
    (share,) = json.loads(report.read_text())["node_shares"]
    assert (share["right"], share["nodes"], share["all_nodes"]) == (8, 8, 9)


def test_sparse_data_set_of_float16_region_has_bounds_below_nearly_all_values(command, here):
    text = """<ir_version: 8, opset_import: ["": 17]> g (float16[8, 64] X) => (float16[8, 32] Y)
    { p = MatMul(X, W) s = Add(p, B) Y = Relu(s) }"""
    model = onnx.parser.parse_model(text)
    random = np.random.default_rng(0)
    for name, shape in {"W": (64, 32), "B": (32,)}.items():
        weights = (random.standard_normal(shape) / 8).astype(np.float16)
        model.graph.initializer.append(numpy_helper.from_array(weights, name))
    onnx.save(model, here / "half.onnx")
    assert command("generate", "--model", here / "half.onnx", "--output", "cases").status == 0
    (folder,) = here.glob("cases/node/*matmul_add_relu*")
    places = []
    for data_set in sorted(folder.glob("test_data_set_*")):
        value, bound = (
            numpy_helper.to_array(onnx.load_tensor(data_set / name)) for name in ("output_0.pb", "bound_0.pb")
        )
        places.append(bound <= np.abs(value.astype(np.float64)))
    assert len(places) == 3
    *others, sparse = map(np.mean, places)
    assert sparse > max(0.95, *others)
    assert np.mean(np.any(places, axis=0)) > 0.99


def test_generate_model_reduces_large_tensors_and_lists_them(generated):
    notice = (generated / "NOTICE").read_text(encoding="utf-8")
    assert "102400x10 → " in notice
    assert sum(len(content) for content in read_tree(generated).values()) < 5_000_000


def test_corpus_of_model_detects_fault_in_one_configuration_only(command, generated):
    ended = command("run", "--data", generated, "-b", "fake_subject:wrong_on_dilated_groups", "--results", "out.jsonl")
    assert ended.status == 1
    records = [json.loads(line) for line in (generated.parent / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    tags = {each["case"]: each["tags"] for each in records if each["record"] == "case"}
    verdicts = {each["case"]: each["verdict"] for each in records if each["record"] == "result"}
    failed = [case for case, verdict in verdicts.items() if verdict == "fail"]
    assert len(failed) == 2
    assert all("Conv" in tags[case] for case in failed)
    assert {*verdicts.values()} == {"pass", "fail"}


@pytest.mark.long
def test_share_of_right_nodes_counts_failures_of_the_compared_subject(command, generated):
    subject = "fake_subject:wrong_on_dilated_groups"
    alone = command("run", "--data", generated, "-b", subject, "--results", "one.jsonl", "--no-diagnosis")
    other = command(
        *("run", "--data", generated, "-b", subject, "--relative-to", "fake_subject:always_wrong"),
        *("--results", "two.jsonl", "--no-diagnosis"),
    )
    shares = [
        [line for line in ended.out.splitlines() if line.endswith(f"right on {subject}")] for ended in (alone, other)
    ]
    assert shares[0] == shares[1] != [], other


def test_generate_model_without_values_writes_same_bytes_for_other_weights_and_names(command, here):
    corpora = []
    for place, (name, given) in enumerate((("first", "X"), ("second", "image"))):
        write_network(here / f"{name}.onnx", place, name, given)
        options = ("--shape", "batch=1", "--no-values", "--output", name)
        assert command("generate", "--model", f"{name}.onnx", *options).status == 0
        corpora.append(read_tree(here / name))
    assert corpora[0] == corpora[1]
    assert not any(b"second" in content or b"image" in content for content in corpora[1].values())


def test_generate_model_without_values_leaves_out_trees_in_attributes(command, here):
    text = """<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>
    scaled (float[2, 2] X) => (float[2, 2] Y) { Y = ai.onnx.ml.Scaler <offset = [7.5, 1.0], scale = [1.0, 2.0]> (X) }"""
    onnx.save(onnx.parser.parse_model(text), here / "scaled.onnx")
    assert command("generate", "--model", "scaled.onnx", "--output", "with").status == 0
    ended = command("generate", "--model", "scaled.onnx", "--output", "without", "--no-values")
    assert_bad_input(ended, "model.no-cases", "scaled.onnx")
    assert not (here / "without").exists()


@pytest.mark.parametrize(("name", "opset"), [("UINT4", 21), ("FLOAT6E2M3", 28)])
def test_generate_model_keeps_operand_of_few_bits(command, here, name, opset):
    if not hasattr(onnx.TensorProto, name):
        pytest.skip(f"needs an onnx with {name}")
    X, scale, Y = (
        helper.make_tensor_value_info(value, type, [3])
        for value, type in (("X", onnx.TensorProto.DataType.Value(name)), ("scale", 1), ("Y", 1))
    )
    node = helper.make_node("DequantizeLinear", ["X", "scale"], ["Y"], axis=0)
    graph = helper.make_graph([node], "scaled", [X, scale], [Y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    onnx.save(model, here / "scaled.onnx")
    assert command("generate", "--model", "scaled.onnx", "--output", "cases").status == 0
    (document,) = documents(here / "cases")
    assert document["level"] == "must"
    assert command("export", here / "exported", "--data", "cases").status == 0


def test_dimension_of_one_model_needs_not_be_in_a_model_with_sequences(command, here):
    for name, graph in (("plain", "(float[N] X) => (float[N] Y)"), ("other", "(seq(float[2]) X) => (seq(float[2]) Y)")):
        text = f'<ir_version: 8, opset_import: ["": 18]> g {graph} {{ Y = Identity(X) }}'
        onnx.save(onnx.parser.parse_model(text), here / f"{name}.onnx")
    models = ("--model", here / "plain.onnx", "--model", here / "other.onnx")
    assert command("generate", *models, "--shape", "N=5", "--output", "cases").status == 0
    assert_bad_input(command("generate", *models, "--shape", "M=5", "--output", "more"), "usage.unknown-shape")


def test_generate_model_leaves_out_data_sets_of_other_output_shapes(command, here):
    text = """<ir_version: 10, opset_import: ["" : 21]>
    sliced (float[4, 5] X, int64[1] starts, int64[1] ends) => (float[N, 5] Y) { Y = Slice (X, starts, ends) }"""
    onnx.save(onnx.parser.parse_model(text), here / "sliced.onnx")
    np.savez(here / "inputs.npz", X=np.ones((4, 5), np.float32), starts=[-(2**62)], ends=[2**62])
    assert command("generate", "--model", "sliced.onnx", "--inputs", "inputs.npz", "--output", "cases").status == 0
    assert len(documents(here / "cases")) == 1


def test_corpus_of_model_can_be_exported(command, here, generated):
    assert command("export", here / "exported", "--data", generated).status == 0
    exported = read_tree(here / "exported")
    assert {"NOTICE", "index.csv", "judge/judge.c"} <= exported.keys()
    assert "LICENSE" not in exported  # that of the suite is not that of the models
    assert exported["manifest.json"] == read_tree(generated)["manifest.json"]
    ended = command("run", "-b", "onnx-reference", "--data", here / "exported", "--no-isolation")
    assert ended.status in {0, 1}  # a corpus that `run` reads


def test_nodes_of_strings_become_cases_that_run_and_the_judge_in_c_read(command, here, tmp_path):
    nodes = [
        helper.make_node("StringConcat", ["x", "z"], ["c"]),
        helper.make_node("StringNormalizer", ["c"], ["y"], case_change_action="UPPER"),
    ]
    x, z, y = (helper.make_tensor_value_info(name, onnx.TensorProto.STRING, shape) for name, shape in TEXT_SHAPES)
    graph = helper.make_graph(nodes, "text", [x, z], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.save(model, here / "text.onnx")
    assert command("generate", "--model", "text.onnx", "--output", "cases").status == 0
    command("run", "-b", "onnx-reference", "--data", "cases", "--no-isolation", "--json", here / "run.json")
    (share,) = json.loads((here / "run.json").read_text())["node_shares"]
    assert (share["right"], share["nodes"]) == (1, 2)  # onnx-reference removes empty texts, and not only stop words
    assert command("export", "exported", "--data", "cases").status == 0
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    program = tmp_path / "judge"
    subprocess.run(["cc", "-std=c99", "exported/judge/judge.c", "-o", program, "-lm"], check=True)
    shutil.copytree("exported", "candidates")
    judge = [program, "--corpus", "exported", "candidates"]
    assert subprocess.run(judge, stdout=subprocess.DEVNULL, check=False).returncode == 0
    for file in (here / "candidates").glob("node/*/test_data_set_0/output_0.pb"):
        tensor = onnx.TensorProto.FromString(file.read_bytes())
        tensor.string_data[0] += b"?"
        file.write_bytes(tensor.SerializeToString())
    assert subprocess.run(judge, stdout=subprocess.DEVNULL, check=False).returncode == 1


TEXT_SHAPES = (("x", [6]), ("z", [6]), ("y", [6]))


def test_generate_model_that_is_refused_replaces_nothing(command, here, network):
    options = ("--shape", "batch=1", "--output", "cases", "--replace")
    assert command("generate", "--model", network, *options).status == 0
    before = read_tree(here / "cases")
    (here / "broken.onnx").write_bytes(network.read_bytes()[:1000])
    for refused in (
        ("--model", here / "broken.onnx"),
        ("--model", network, "--model", "absent.onnx"),
        ("--onnx", "-g", "adam"),
    ):
        assert command("generate", *refused, "--output", "cases", "--replace").status == 2
        assert read_tree(here / "cases") == before


def test_generate_model_with_inputs_adds_values_of_the_model(command, here, network):
    image = np.full((1, 64, 40, 40), 0.25, np.float32)
    np.savez(here / "inputs.npz", X=image)
    assert command("generate", "--model", network, "--inputs", "inputs.npz", "--output", "cases").status == 0
    files = (here / "cases" / "node").glob("test_model_conv_????????????/*/input_0.pb")
    tensors = [numpy_helper.to_array(onnx.load_tensor(file)) for file in files]
    assert any((tensor == 0.25).all() for tensor in tensors)


def test_generate_model_chooses_sizes_of_open_dimensions_and_prints_them(command, network):
    found = command("generate", "--model", network, "--output", "cases")
    assert found.status == 0
    assert "--shape batch=2" in found.out


def test_generate_model_with_unknown_operator_of_onnx_is_refused(command, network):
    model = onnx.load(network)
    model.graph.node[0].op_type = "Convolve"
    onnx.save(model, network)
    ended = command("generate", "--model", network, "--shape", "batch=1")
    assert_bad_input(ended, "model.invalid", "network.onnx")


@pytest.mark.parametrize(
    ("ends", "nodes", "weights", "tags"),
    [
        (
            "(float[8, 1, 256] X) => (float[8, 2, 1, 128] Y)",
            'Y = GRU<hidden_size = 128, direction = "bidirectional">(X, W, R)',
            {"W": (2, 384, 256), "R": (2, 384, 128)},
            {"GRU"},
        ),
        (
            "(float[1, 128, 39, 1] X, float[1, 128, 20, 1] A) => (float[1, 128, 20, 1] Y)",
            "C = Conv<group = 128, kernel_shape = [20, 1]>(X, W) Y = Add(C, A)",
            {"W": (128, 1, 20, 1)},
            {"Conv", "Add", "region"},
        ),
    ],
)
def test_sizes_that_other_sizes_determine_are_reduced_too(command, here, ends, nodes, weights, tags):
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> g {ends} {{ {nodes} }}')
    for name, shape in weights.items():
        model.graph.initializer.append(numpy_helper.from_array(np.ones(shape, np.float32), name))
    onnx.save(model, here / "model.onnx")
    assert command("generate", "--model", "model.onnx", "--output", "cases").status == 0
    found = [each for each in documents(here / "cases") if tags <= {*each["tags"]}]
    assert found
    assert all(np.prod(each["data_sets"][0]["outputs"][0]["shape"]) < 2**10 for each in found)


def test_node_of_more_operands_than_a_case_has_inputs_has_no_case(command, here):
    names = [f"X{number}" for number in range(2000)]
    text = f"""<ir_version: 8, opset_import: ["": 17]> g ({", ".join(f"float[2] {name}" for name in names)})
    => (float[N] Y, float[2] Z) {{ Y = Concat <axis = 0> ({", ".join(names)}) Z = Relu (X0) }}"""
    onnx.save(onnx.parser.parse_model(text), here / "model.onnx")
    assert command("generate", "--model", "model.onnx", "--output", "cases").status == 0
    assert [each["tags"][0] for each in documents(here / "cases")] == ["Relu"]
    assert command("verify", "--data", "cases").status == 0


def test_generate_model_leaves_out_operators_without_schema(command, here):
    text = """<ir_version: 8, opset_import: ["": 17, "com.example": 1, "com.microsoft": 1]>
    g (float[3] X) => (float[3] Y) { a = com.example.Own(X)  b = Exp(a)  Y = com.microsoft.QuickGelu(X) }"""
    model = onnx.parser.parse_model(text)
    model.graph.value_info.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, [3]))
    onnx.save(model, here / "own.onnx")
    assert command("generate", "--model", "own.onnx", "--output", "cases").status == 0
    assert {each["tags"][0] for each in documents(here / "cases")} == {"Exp", "QuickGelu"}
    assert "Own" in (here / "cases" / "NOTICE").read_text(encoding="utf-8")


def test_generate_model_into_folder_with_files_is_refused(command, here, network):
    (here / "cases").mkdir()
    (here / "cases" / "mine.txt").write_text("mine", encoding="utf-8")
    ended = command("generate", "--model", network, "--shape", "batch=1", "--output", "cases")
    assert_bad_input(ended, "corpus.not-a-corpus", "cases")
    assert read_tree(here / "cases") == {"mine.txt": b"mine"}


def test_inputs_without_model_are_refused(command):
    assert_bad_input(command("generate", "--no-values"), "usage.model-missing", "--model")


def test_generate_model_of_a_node_with_many_inputs_has_few_data_sets(command, here):
    """The number of pairs of probes would grow with the square of the number of inputs."""
    names = [f"X{number}" for number in range(40)]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in names]
    node = helper.make_node("Concat", names, ["Y"], axis=0)
    graph = helper.make_graph([node], "g", values, [helper.make_tensor_value_info("Y", TensorProto.FLOAT, [40])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), here / "many.onnx")
    assert command("generate", "--model", "many.onnx", "--output", "cases").status == 0
    (case,) = [path for path in (here / "cases" / "node").iterdir() if path.is_dir()]
    assert 1 < len(list(case.glob("test_data_set_*"))) < 8


WITHOUT_ALPHA = """
import numpy
from onnx.reference import ReferenceEvaluator

class backend:
    @classmethod
    def prepare(cls, model, device="CPU"):
        for node in model.graph.node:
            for place, attribute in reversed(list(enumerate(node.attribute))):
                if attribute.name == "alpha":
                    del node.attribute[place]
        return cls(ReferenceEvaluator(model))

    def __init__(self, evaluator):
        self.evaluator = evaluator

    def run(self, inputs):
        with numpy.errstate(all="ignore"):
            return self.evaluator.run(None, dict(zip(self.evaluator.input_names, inputs)))
"""


def test_run_names_the_mistake_that_explains_all_failures_of_an_operator(command, here):
    (here / "without_alpha.py").write_text(WITHOUT_ALPHA, encoding="utf-8")
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        steps (float[3, 4] A, float[4, 3] B) => (float[3, 3] Z) {
            first = Gemm <alpha = 0.3> (A, B)
            second = Transpose <perm = [1, 0]> (first)
            Z = LeakyRelu <alpha = 0.3> (second)
        }""")
    onnx.save(model, here / "steps.onnx")
    assert command("generate", "--model", "steps.onnx", "--output", "cases").status == 0
    run = ("run", "--data", "cases", "-b", "without_alpha:backend", "--results", here / "results.jsonl")
    assert command(*run, diagnose=True).status == 1
    (footer,) = (
        line for line in (here / "results.jsonl").read_text().splitlines() if json.loads(line)["record"] == "footer"
    )
    named = {(one["operator"], one["text"]) for one in json.loads(footer)["diagnoses"]}
    assert named == {("Gemm", "ignores alpha"), ("LeakyRelu", "ignores alpha")}


def test_nodes_after_texts_and_attributes_of_fixed_sizes_have_cases(command, here):
    C = 600  # coefficients do not become fewer with smaller tensors
    classifier = helper.make_node(
        *("LinearClassifier", ["V"], ["L", "S"]),
        domain="ai.onnx.ml",
        coefficients=[float(number % 7) / 8 for number in range(3 * C)],
        intercepts=[0.25, -0.5, 0.75],
        classlabels_ints=[0, 1, 2],
    )
    upper = helper.make_node("StringNormalizer", ["T"], ["y"], case_change_action="UPPER")
    ends = [
        helper.make_tensor_value_info("T", TensorProto.STRING, [2]),
        helper.make_tensor_value_info("V", TensorProto.FLOAT, [3, C]),
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in ("y", "L", "S")]
    graph = helper.make_graph([upper, classifier], "g", ends, outputs)
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), here / "m.onnx")
    np.savez(here / "in.npz", T=["a", "b"], V=np.eye(3, C, dtype=np.float32))
    given = ("--model", here / "m.onnx", "--inputs", here / "in.npz")
    assert command("generate", *given, "--output", "cases").status == 0
    assert {each["tags"][0] for each in documents(here / "cases")} == {"StringNormalizer", "LinearClassifier"}
    assert command("generate", *given[:2], "--output", "drawn").status == 0
    assert {each["tags"][0] for each in documents(here / "drawn")} >= {"StringNormalizer"}


def test_operators_whose_counts_depend_on_values_and_those_after_them_have_cases(command, here):
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[N, 6] x) => (float[n] y) {
        large = Relu (x) places = NonZero (large) rows = Transpose (places) y = GatherND (x, rows)
    }"""
    onnx.save(onnx.parser.parse_model(text), here / "counts.onnx")
    assert command("generate", "--model", "counts.onnx", "--output", "cases").status == 0
    names = {folder.name.split("_")[2] for folder in (here / "cases/node").iterdir()}
    assert names >= {"nonzero", "transpose", "gathernd"}


@pytest.mark.parametrize(
    ("text", "operators"),
    [
        (
            """<ir_version: 10, opset_import: ["": 23]> g (float[2, 3, 4, 8] Q, float[2, 3, 6, 8] K,
            float[2, 3, 6, 8] V, float[1, 4, 18] M, float[2, 3, 12, 8] P, float[2, 3, 12, 8] R) =>
            (float[2, 3, 4, 8] Y, float[2, 3, 18, 8] A, float[2, 3, 18, 8] B, float[2, 3, 4, 18] S)
            { Y, A, B, S = Attention (Q, K, V, M, P, R) }""",
            {"Attention"},
        ),
        (
            """<ir_version: 8, opset_import: ["": 15]> g (string[n] s) => (seq(string[]) q, string e) <int64 one = {1}>
            { q = SplitToSequence <axis = 0, keepdims = 0> (s) e = SequenceAt (q, one) }""",
            {"SplitToSequence", "SequenceAt"},
        ),
        (
            """<ir_version: 10, opset_import: ["": 21]>
            g (float[n, 4, 3] x, float[4] s, float[4] b) => (float[n, 4, 3] y) {
              m = MeanVarianceNormalization <axes = [0, 2]> (x)
              y = GroupNormalization <num_groups = 2> (m, s, b) }""",
            {"MeanVarianceNormalization", "GroupNormalization"},
        ),
    ],
)
def test_nodes_of_many_operands_of_texts_and_without_shape_inference_have_cases(command, here, text, operators):
    onnx.save(onnx.parser.parse_model(text), here / "model.onnx")
    assert command("generate", "--model", "model.onnx", "--output", "cases").status == 0
    assert {each["tags"][0] for each in documents(here / "cases")} == operators


WINDOWS = """<ir_version: 8, opset_import: ["": 17]> g (float[2, height, width, 8] X) => (float[n, 4, 4, 8] Y)
    <int64[1] start = {1}, int64[1] end = {3}, int64[1] last = {4}, int64[1] window = {4}, int64[1] any = {-1},
     int64[1] two = {2}> {
        sizes = Shape (X)  sides = Slice (sizes, start, end)  channels = Slice (sizes, end, last)
        counts = Div (sides, window)  rows = Slice (counts, zero, start)  columns = Slice (counts, start, two)
        split = Concat <axis = 0> (two, rows, window, columns, window, channels)
        parts = Reshape (X, split)  moved = Transpose <perm = [0, 1, 3, 2, 4, 5]> (parts)
        joined = Concat <axis = 0> (any, window, window, channels)  Y = Reshape (moved, joined) }"""


@pytest.mark.parametrize("sizes", [(), ("--shape", "height=224", "--shape", "width=224")])
def test_windows_with_computed_shapes_have_cases_also_if_their_sizes_are_products(command, here, sizes):
    model = onnx.parser.parse_model(WINDOWS)
    model.graph.initializer.append(numpy_helper.from_array(np.array([0], np.int64), "zero"))
    onnx.save(model, here / "windows.onnx")
    assert command("generate", "--model", "windows.onnx", "--output", "cases", *sizes).status == 0
    cases = documents(here / "cases")
    assert sum(each["tags"][0] == "Reshape" for each in cases) == 2
    assert sum(each["uses"] for each in cases) == len(model.graph.node)


FRAMES = """<ir_version: 8, opset_import: ["": 17]>
    g (float[batch, length] X, float[1, states, 4] H) => (float[a, 1, c, 4] Y) <int64[1] axis = {1}> {
        x = Unsqueeze (X, axis)  parts = Conv <strides = [256]> (x, K)  frames = Transpose <perm = [2, 0, 1]> (parts)
        Y, Z = LSTM <hidden_size = 4> (frames, W, R, , , H) }"""


def test_batch_of_an_initial_state_is_that_of_the_sequence(command, here):
    model = onnx.parser.parse_model(FRAMES)
    for name, shape in {"K": (2, 1, 256), "W": (1, 16, 2), "R": (1, 16, 4)}.items():
        model.graph.initializer.append(numpy_helper.from_array(np.ones(shape, np.float32), name))
    onnx.save(model, here / "frames.onnx")
    assert command("generate", "--model", "frames.onnx", "--output", "cases").status == 0
    assert {each["tags"][0] for each in documents(here / "cases")} == {"Unsqueeze", "Conv", "Transpose", "LSTM"}
