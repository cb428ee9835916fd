"""What stands beside the pair that a draw about the pass is about: other pairs, other uses, other words of models.

A bystander is a graph in ONNX's textual form, with the functions that it calls, on one input X of its own; its names
get its word as a prefix, and its nodes come after those of the draw. What the text cannot say is in `beside`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

X = "(float[2,3] X) => "
IF = "c) <then_branch = t () => (float[2,3] T) { %s }, else_branch = e () => (float[2,3] E) { %s }>"
PAIR = "Y = Exp(X) I = ArgMax <axis = 0> (Y)"


def _if(then: str, otherwise: str = "E = Neg(X)", result: str = "Z") -> str:
    return f"{result} = If({IF % (then, otherwise)}"


def _shown(nodes: str, more: str = "", held: str = "") -> str:
    """A graph that gives an index, and more."""
    return f"{X}(int64[1,3] I{more}) {f'<{held}>' if held else ''} {{ {nodes} }}"


def _captured(use: str, *, taken: int = 1) -> str:
    return _shown(f"{PAIR} {use}", ", float[2,3] Z", f"bool c = {{{taken}}}")


_DEEPER = (
    "c) <then_branch = t{0} () => (float[2,3] T{0}) {{ {1} }},"
    " else_branch = e{0} () => (float[2,3] E{0}) {{ E{0} = Neg(X) }}>"
)


def _nested(inner: str, depth: int) -> str:
    """An If in an If, so many deep, of which the innermost branch gives T and the outermost Z."""
    text = inner.replace("T =", f"T{depth} =")
    for level in range(depth, 0, -1):
        result = f"T{level - 1}" if level > 1 else "Z"
        text = f"{result} = If({_DEEPER.format(level, text)}"
    return text


_FUNCTION = '<domain: "acme", opset_import: ["" : 13]> {}'
_PAIR_IN_IF = (
    "c) <then_branch = {0} () => (int64[1,3] T) {{ Y = Exp(X) T = ArgMax <axis = 0> (Y) }},"
    " else_branch = e () => (int64[1,3] E) {{ E = ArgMax <axis = 0> (X) }}>"
)

GRAPHS: Mapping[str, str] = {
    **{
        f"after_{op_type.lower()}": _shown(f"Y = {op_type}(X) I = ArgMax <axis = 0> (Y)")
        for op_type in ("Neg", "Abs", "Reciprocal", "Floor", "Sign", "Tanh", "Sigmoid", "Identity")
    },
    "after_hardmax": _shown("Y = Hardmax <axis = 0> (X) I = ArgMax <axis = 0> (Y)"),
    "after_identity_after_exp": _shown("Y = Exp(X) Z = Identity(Y) I = ArgMax <axis = 0> (Z)"),
    "argmin": _shown("Y = Exp(X) I = ArgMin(Y)"),
    "reduce_max": f"{X}(float[1,1] I) {{ Y = Exp(X) I = ReduceMax(Y) }}",
    # other uses of what the pair hands on
    "another_pair": _shown(PAIR),
    "read_before": _shown("Y = Exp(X) Z = Neg(Y) I = ArgMax <axis = 0> (Y)", ", float[2,3] Z"),
    "read_after": _shown(f"{PAIR} Z = Neg(Y)", ", float[2,3] Z"),
    "read_by_what_is_not_used": _shown("Y = Exp(X) Z = Neg(Y) I = ArgMax <axis = 0> (Y)"),
    "an_output": _shown(PAIR, ", float[2,3] Y"),
    "two_argmax": _shown(f"{PAIR} J = ArgMax <axis = 1> (Y)", ", int64[2,1] J"),
    "captured_in_then": _captured(_if("T = Neg(Y)")),
    "captured_in_else": _captured(_if("T = Neg(X)", "E = Neg(Y)"), taken=0),
    "captured_as_it_is": _captured(_if("T = Identity(Y)")),
    "captured_two_deep": _captured(_nested("T = Neg(Y)", 2)),
    "captured_three_deep": _captured(_nested("T = Neg(Y)", 3)),
    "captured_four_deep": _captured(_nested("T = Neg(Y)", 4)),
    "captured_in_a_loop": _shown(
        f"{PAIR} Z = Loop(n, c) <body = b (int64 i, bool k) => (bool l, float[2,3] S)"
        " { l = Identity(k) S = Neg(Y) }>",
        ", float[2,2,3] Z",
        "bool c = {1}, int64 n = {2}",
    ),
    "carried_by_a_loop": _shown(
        f"{PAIR} Z = Loop(n, c, Y) <body = b (int64 i, bool k, float[2,3] q) => (bool l, float[2,3] S)"
        " { l = Identity(k) S = Neg(q) }>",
        ", float[2,3] Z",
        "bool c = {1}, int64 n = {2}",
    ),
    "captured_in_a_scan": _shown(
        f"{PAIR} Z = Scan <num_scan_inputs = 1, body = b (float[3] r) => (float[3] S)"
        " { q = Gather(Y, zero) S = Add(r, q) }> (X)",
        ", float[2,3] Z",
        "int64 zero = {0}",
    ),
    "scanned": _shown(
        f"{PAIR} Z = Scan <num_scan_inputs = 1, body = b (float[3] r) => (float[3] S) {{ S = Neg(r) }}> (Y)",
        ", float[2,3] Z",
    ),
    # pairs in other graphs
    "pair_in_a_scan": f"{X}(int64[2,1] I) {{ I = Scan <num_scan_inputs = 1, body = b (float[3] r) => (int64[1] S)"
    " { Y = Exp(r) S = ArgMax <axis = 0> (Y) }> (X) }",
    "pair_in_a_loop": f"{X}(int64[2,1,3] I) <bool c = {{1}}, int64 n = {{2}}> {{ I = Loop(n, c)"
    " <body = b (int64 i, bool k) => (bool l, int64[1,3] S)"
    " { l = Identity(k) Y = Exp(X) S = ArgMax <axis = 0> (Y) }> }",
    "pairs_in_graphs_of_one_name": f"{X}(int64[1,3] I, int64[1,3] J) <bool c = {{1}}> {{"
    f" I = If({_PAIR_IN_IF.format('t')} J = If({_PAIR_IN_IF.format('t')} }}",
    "a_name_in_a_graph_before": _shown(f"{_if('Y = Neg(X) T = Abs(Y)')} {PAIR}", ", float[2,3] Z", "bool c = {1}"),
    "a_name_in_two_graphs": f"{X}(int64[1,3] I) <bool c = {{1}}> {{ I = If(c) <then_branch = t () => (int64[1,3] T)"
    " { Y = Exp(X) T = ArgMax <axis = 0> (Y) }, else_branch = e () => (int64[1,3] E)"
    " { Y = Neg(X) Z = Abs(Y) W = Add(Y, Z) E = ArgMax <axis = 0> (W) }> }",
    "pair_three_deep": f"{X}(float[2,3] Z) <bool c = {{1}}> {{ "
    + _nested("Y = Exp(X) j = ArgMax <axis = 0> (Y) f = Cast <to = 1> (j) T = Add(X, f)", 3)
    + " }",
    "captured_beside_a_pair_within": f"{X}(float[2,3] Z) <bool c = {{1}}> {{ "
    + _nested(
        "Y = Exp(X) j = ArgMax <axis = 0> (Y) f = Cast <to = 1> (j)"
        " W = If(c) <then_branch = v () => (float[2,3] V) { V = Neg(Y) },"
        " else_branch = u () => (float[2,3] U) { U = Neg(X) }> T = Add(W, f)",
        1,
    )
    + " }",
    # how many, and how far apart
    "chain_of_12": _shown(
        " ".join(f"Y{n + 1} = {'Log' if n % 2 else 'Exp'}({f'Y{n}' if n else 'X'})" for n in range(12))
        + " I = ArgMax <axis = 0> (Y12)"
    ),
    "17_pairs": X
    + f"({', '.join(f'int64[1,3] I{n}' for n in range(17))}) {{ "
    + " ".join(f"Y{n} = Exp(X) I{n} = ArgMax <axis = 0> (Y{n})" for n in range(17))
    + " }",
    "another_node_between": _shown("Y = Exp(X) Z = Neg(X) I = ArgMax <axis = 0> (Y)", ", float[2,3] Z"),
    "17_nodes_between": _shown(
        "Y = Exp(X) "
        + " ".join(f"Z{n} = Neg({f'Z{n - 1}' if n else 'X'})" for n in range(17))
        + " I = ArgMax <axis = 0> (Y)",
        ", float[2,3] Z16",
    ),
    "axis_comes_last": f"{X}(int64[2] I) {{ Y = Softmax <axis = 1> (X) I = ArgMax <keepdims = 0, axis = 1> (Y) }}",
    "axis_comes_last_and_differs": f"{X}(int64[2] I) {{ Y = Softmax <axis = 0> (X)"
    " I = ArgMax <keepdims = 0, axis = 1> (Y) }",
    # domains and functions
    "exp_of_others": _shown("Y = acme.Exp(X) I = ArgMax <axis = 0> (Y)")
    + _FUNCTION.format("Exp (A) => (B) { B = Neg(A) }"),
    "exp_of_others_beside": _shown(f"{PAIR} Z = acme.Exp(X)", ", float[2,3] Z")
    + _FUNCTION.format("Exp (A) => (B) { B = Neg(A) }"),
    "exp_of_two": _shown("Y = acme.Exp(X, X) I = ArgMax <axis = 0> (Y)")
    + _FUNCTION.format("Exp (A, C) => (B) { B = Sub(A, C) }"),
    "argmax_of_others": _shown("Y = Exp(X) I = acme.ArgMax <axis = 0> (Y)")
    + _FUNCTION.format("ArgMax <axis> (A) => (B) { E = Exp(A) B = ArgMin <axis : int = @axis> (E) }"),
    "pair_in_a_function": _shown("I = acme.Pair(X)")
    + _FUNCTION.format("Pair (A) => (B) { E = Exp(A) B = ArgMax <axis = 0> (E) }"),
    "axis_of_a_call": _shown("I = acme.Along <along = 0> (X)")
    + _FUNCTION.format("Along <along> (A) => (B) { E = Softmax <axis : int = @along> (A) B = ArgMax <axis = 0> (E) }"),
    "axis_of_a_call_differs": _shown("I = acme.Along <along = 1> (X)")
    + _FUNCTION.format("Along <along> (A) => (B) { E = Softmax <axis : int = @along> (A) B = ArgMax <axis = 0> (E) }"),
    "exp_as_a_function": _shown("Y = acme.Grown(X) I = ArgMax <axis = 0> (Y)")
    + _FUNCTION.format("Grown (A) => (B) { B = Exp(A) }"),
    "functions_with_equal_bodies": _shown(f"{PAIR} Z = acme.One(X) W = acme.Other(Z)", ", float[2,3] W")
    + _FUNCTION.format("One (A) => (B) { B = Neg(A) }")
    + _FUNCTION.format("Other (A) => (B) { B = Neg(A) }"),
    "a_constant_in_a_function": _shown(f"{PAIR} Z = acme.Shifted(X)", ", float[2,3] Z")
    + _FUNCTION.format("Shifted (A) => (B) { C = Constant <value = float {0.5}> () B = Add(A, C) }"),
    # what is declared
    "a_declared_result": _shown(PAIR, held="float[2,3] Y"),
    "a_declared_result_of_open_shape": _shown(PAIR, held="float[N,M] Y"),
    "a_declared_operand": _shown("W = Neg(X) Y = Exp(W) I = ArgMax <axis = 0> (Y)", held="float[2,3] W, float[2,3] Y"),
    "an_open_dimension": "(float[N,3] X) => (int64[1,3] I) { Y = Exp(X) I = ArgMax <axis = 0> (Y) }",
    "symbols": "(float[N,M] X) => (int64[1,M] I) { Y = Exp(X) I = ArgMax <axis = 0> (Y) }",
    "a_declared_result_inside": f"{X}(int64[1,3] I) <bool c = {{1}}> {{ I = If(c) <then_branch = t () => (int64[1,3] T)"
    " <float[2,3] Y> { Y = Exp(X) T = ArgMax <axis = 0> (Y) },"
    " else_branch = e () => (int64[1,3] E) { E = ArgMax <axis = 0> (X) }> }",
    # what tools do on the way
    "nodes_that_attributes_tell_apart": _shown(
        f"{PAIR} Z = LeakyRelu <alpha = 0.25> (X) W = LeakyRelu <alpha = 0.5> (X)", ", float[2,3] Z, float[2,3] W"
    ),
    "an_input_left_out": _shown(f"{PAIR} Z = Clip(X, , h)", ", float[2,3] Z", "float h = {0.5}"),
    "zeros_of_both_signs": _shown(f"{PAIR} Z = Mul(X, z)", ", float[2,3] Z", "float[3] z = {-0.0, 0.0, 1.0}"),
    "equal_initializers": _shown(
        f"{PAIR} Z = Add(X, p) W = Add(Z, q)", ", float[2,3] W", "float p = {0.5}, float q = {0.5}"
    ),
    "an_initializer_without_a_use": _shown(PAIR, held="float[2] p = {0.5, 1.0}"),
    "scan_over_columns_backwards": _shown(
        f"{PAIR} v, Z = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1],"
        " scan_output_axes = [1], scan_output_directions = [1],"
        " body = b (float[2] s, float[2] r) => (float[2] u, float[2] S) { u = Add(s, r) S = Neg(u) }> (w, X)",
        ", float[2,3] Z",
        "float[2] w = {0.5, 1.0}",
    ),
}
"""By word the text of a graph, and of the functions that it calls."""
