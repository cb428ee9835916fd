"""Small models with an ArgMax, written as onnx prints them."""

from __future__ import annotations

from onnx import ModelProto, parser


def argmax_model(
    body: str, value_info: str = "", opset: int = 13, functions: str = "", imports: str = ""
) -> ModelProto:
    """Return a model from X (float[2, 3]) to `index` (int64[2]) with this body."""
    return parser.parse_model(
        f'<ir_version: 8, opset_import: ["": {opset}{imports}]>\n'
        f"g (float[2,3] X) => (int64[2] index) {f'<{value_info}>' if value_info else ''} {{ {body} }}\n{functions}"
    )


def argmax_after(operator: str, attributes: str = "axis=1") -> ModelProto:
    """Return a model with this operator before an ArgMax; attributes are in angle brackets."""
    return argmax_model(f"Y = {operator}(X)\nindex = ArgMax<{attributes}{', ' if attributes else ''}keepdims=0>(Y)")


def op_types(proto: ModelProto) -> list[str]:
    """Return the operators of the main graph in order."""
    return [node.op_type for node in proto.graph.node]


IN_BRANCH = """
    flag = Constant<value_int=1>()
    taken = Cast<to=9>(flag)
    index = If (taken) <
        then_branch = inside () => (int64[2] a) { T = Exp(X) a = ArgMax<axis=1, keepdims=0>(T) },
        else_branch = other () => (int64[2] b) { b = ArgMax<axis=1, keepdims=0>(X) }
    >
"""
"""Exp before ArgMax inside of a branch; both see X from outside."""

CAPTURED = """
    Y = Exp(X)
    flag = Constant<value_int=1>()
    taken = Cast<to=9>(flag)
    index = ArgMax<axis=1, keepdims=0>(Y)
    other = If (taken) <
        then_branch = inside () => (float[2,3] a) { a = Identity(Y) },
        else_branch = outside () => (float[2,3] b) { b = Identity(X) }
    >
"""
"""The result of Exp goes into ArgMax and into a branch."""

CAPTURED_TWICE_INSIDE = """
    Y = Exp(X)
    flag = Constant<value_int=1>()
    taken = Cast<to=9>(flag)
    index = ArgMax<axis=1, keepdims=0>(Y)
    other = If (taken) <
        then_branch = inside () => (float[2,3] a) {
            a = If (taken) <
                then_branch = deep () => (float[2,3] c) { c = Identity(Y) },
                else_branch = deeper () => (float[2,3] d) { d = Identity(X) }
            >
        },
        else_branch = outside () => (float[2,3] b) { b = Identity(X) }
    >
"""
"""The same, two levels deep."""

NAME_REUSED = CAPTURED.replace("{ a = Identity(Y) }", "{ Y = Neg(X) a = Identity(Y) }")
"""The branch has a Y of its own."""
