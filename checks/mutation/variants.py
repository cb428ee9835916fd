"""Correct variants: correct implementations that evaluate formulas differently; they must pass all `must` cases."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from checks.mutation import arithmetic
from conformance.exact.models.graphs import MAIN_DOMAINS
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.run.mutants import pseudocode_edits
from conformance.run.mutants.arithmetic import flushed
from conformance.run.mutants.mutant import FormulaArithmetic, KernelPatch, MutantBackend
from conformance.run.mutants.wrappers import change_each_input

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.graph import Graph
    from conformance.exact.reference.nodes import Node
    from conformance.exact.reference.numbers.number_system import NumberSystem
    from conformance.run.mutants.mutant import Kernel, KernelWrapper


@dataclass(frozen=True, eq=False)
class Variant:
    """A correct implementation.

    Attributes:
        id: the name of the variant.
        text: the difference from the reference, as a verb phrase.
        patches: by op_type, the change of the reference kernel.
    """

    id: str
    text: str
    patches: Mapping[str, KernelPatch]

    @property
    def backend(self) -> MutantBackend:
        """A backend that evaluates models as the variant does."""
        return MutantBackend(self.patches)

    def changes(self, op_types: set[str]) -> bool:
        """Return whether the variant evaluates a model with these operators differently."""
        return not op_types.isdisjoint(self.patches)


def _edited(id: str, text: str, **edits: Mapping[str, str]) -> Variant:
    """Return a variant with changed pseudo-code of one or more operators.

    Args:
        edits: for each op_type, the new text of pseudo-code lines; the keys are the names of lines in the TOML files of
            mutants.
    """
    patches = {
        operator: KernelPatch(arithmetic=FormulaArithmetic(pseudocode_edits(operator, edit), functions=arithmetic))
        for operator, edit in edits.items()
    }
    return Variant(id, text, patches)


def _everywhere(id: str, text: str, system: NumberSystem) -> Variant:
    return Variant(id, text, dict.fromkeys(TRAINING_OPTIMIZERS, KernelPatch(arithmetic=system)))


def _wrapped(
    id: str, text: str, wrap_kernel: KernelWrapper, *operators: str, only_before_argmax: bool = False
) -> Variant:
    find_sites = _nodes_read_only_by_argmax if only_before_argmax else None
    patch = KernelPatch(wrappers=(wrap_kernel,), find_sites=find_sites)
    return Variant(id, text, dict.fromkeys(operators, patch))


def _nodes_read_only_by_argmax(graph: Graph, _: str) -> set[tuple[str, ...]]:
    """Return the outputs of the nodes whose results only ArgMax nodes of the main graph read, and no subgraph."""
    takers = [(name, node) for node, _ in graph.nodes for name in node.inputs]
    others = {name for name, node in takers if node.op_type != "ArgMax" or node.domain not in MAIN_DOMAINS}
    hidden = {name for name, _ in takers} - others - {*graph.outputs}
    return {node.outputs for node, _ in graph.nodes if node.outputs[0] in hidden}


def _compute_in_double(kernel: Kernel) -> Kernel:
    """Compute floats of fewer bits in double, and round the results once."""

    def compute(node: Node, inputs: list[Array]) -> list[Array]:
        own = inputs[0].dtype
        if own.kind in "iub" or own == np.float64:
            return kernel(node, inputs)
        return [result.astype(own) for result in kernel(node, [inputs[0].astype(np.float64), *inputs[1:]])]

    return compute


def _compute_backwards(kernel: Kernel) -> Kernel:
    """Take the elements of the first input in the opposite order of each axis."""
    return lambda node, inputs: [np.flip(result) for result in kernel(node, [np.flip(inputs[0]), *inputs[1:]])]


def _power(name: str) -> Mapping[str, str]:
    return {"R_adjusted": f"R * np.sqrt(1 - {name}(beta, T)) / (1 - {name}(alpha, T))"}


FUSED_GRADIENT = "fma(norm_coefficient, X, G)"

WRITTEN_VARIANTS = (
    _everywhere("plain", "computes in the tensor's type, operation by operation", FormulaArithmetic()),
    _edited(
        "fused",
        "fuses each multiplication with the addition after it",
        Adam={
            "G_regularized": FUSED_GRADIENT,
            "V_new": "fma(alpha, V, (1 - alpha) * G_regularized)",
            "H_new": "fma(beta, H, (1 - beta) * G_regularized * G_regularized)",
            "X_new": "fma(-R_adjusted, V_new / H_sqrt, X)",
        },
        Momentum={
            "G_regularized": FUSED_GRADIENT,
            "V_new": "fma(alpha, V, beta_adjusted * G_regularized)",
            "X_new_standard": "fma(-R, V_new, X)",
            "X_new_nesterov": "fma(-R, fma(alpha, V_new, G_regularized), X)",
        },
        Adagrad={
            "r": "R / fma(T, decay_factor, R * 0 + 1)",
            "G_regularized": FUSED_GRADIENT,
            "H_new": "fma(G_regularized, G_regularized, H)",
            "X_new": "fma(-r, G_regularized / H_adaptive, X)",
        },
    ),
    _edited(
        "fused_otherwise",
        "fuses the other multiplication of each sum",
        Adam={
            "V_new": "fma(1 - alpha, G_regularized, alpha * V)",
            "H_new": "fma((1 - beta) * G_regularized, G_regularized, beta * H)",
            "X_new": "fma(-(R_adjusted / H_sqrt), V_new, X)",
        },
        Momentum={
            "V_new": "fma(beta_adjusted, G_regularized, alpha * V)",
            "X_new_nesterov": "fma(-R, G_regularized + alpha * V_new, X)",
        },
        Adagrad={"X_new": "fma(-(r / H_adaptive), G_regularized, X)"},
    ),
    _edited(
        "reassociated",
        "multiplies in another order",
        Adam={
            "H_new": "(1 - beta) * (G_regularized * G_regularized) + H * beta",
            "R_adjusted": "np.sqrt(1 - beta**T) / (1 - alpha**T) * R",
            "X_new": "X - V_new / H_sqrt * R_adjusted",
        },
        Momentum={
            "V_new": "G_regularized * beta_adjusted + V * alpha",
            "X_new_nesterov": "X - (alpha * V_new + G_regularized) * R",
        },
        Adagrad={"X_new": "X - G_regularized / H_adaptive * r"},
    ),
    _edited(
        "reciprocal",
        "multiplies by reciprocals instead of dividing",
        Adam={
            "R_adjusted": "R * np.sqrt(1 - beta**T) * (1 / (1 - alpha**T))",
            "X_new": "X - R_adjusted * V_new * (1 / H_sqrt)",
        },
        Adagrad={
            "r": "R * (1 / (1 + T * decay_factor))",
            "X_new": "X - r * G_regularized * (1 / H_adaptive)",
        },
    ),
    _edited(
        "step_first",
        "divides R by the root before it multiplies by the gradient",
        Adam={"X_new": "X - R_adjusted / H_sqrt * V_new"},
        Adagrad={"X_new": "X - r / H_adaptive * G_regularized"},
    ),
    _edited(
        "one_quotient",
        "multiplies the denominators instead of dividing twice",
        Adam={
            "R_adjusted": "R * np.sqrt(1 - beta**T)",
            "H_sqrt": "(np.sqrt(H_new) + epsilon) * (1 - alpha**T if T > 0 else 1)",
        },
        Adagrad={
            "r": "R",
            "X_new": "X - r * G_regularized / (H_adaptive * (1 + T * decay_factor))",
        },
    ),
    _edited(
        "rate_divided_first",
        "divides R before it multiplies it by the root",
        Adam={"R_adjusted": "R / (1 - alpha**T) * np.sqrt(1 - beta**T)"},
    ),
    _edited(
        "roots_divided",
        "multiplies by the reciprocal of a reciprocal root",
        Adam={"H_sqrt": "1 / (1 / np.sqrt(np.maximum(H_new, np.finfo(X.dtype).tiny))) + epsilon"},
        Adagrad={"H_adaptive": "1 / (1 / np.sqrt(np.maximum(H_new, np.finfo(X.dtype).tiny))) + epsilon"},
    ),
    _edited("power_by_loop", "multiplies T times for a power", Adam=_power("by_loop")),
    _edited("power_by_squaring", "squares repeatedly for a power", Adam=_power("by_squaring")),
    _edited(
        "power_by_exponential",
        "computes a power of a positive base as Exp(T * Log(base))",
        Adam=_power("by_exponential"),
    ),
    _edited(
        "scalars_in_double",
        "computes what has no tensor in it in double, and rounds it once",
        Adam={
            "V_new": "alpha * V + like(X, 1 - np.float64(alpha)) * G_regularized",
            "H_new": "beta * H + like(X, 1 - np.float64(beta)) * G_regularized * G_regularized",
            "R_adjusted": "like(X, R * np.sqrt(1 - np.float64(beta) ** T) / (1 - np.float64(alpha) ** T))",
            "X_final": "like(X, 1 - np.float64(norm_coefficient_post)) * X_new",
        },
        Adagrad={"r": "like(X, R / (1 + T * np.float64(decay_factor)))"},
    ),
    _edited(
        "attributes_in_float",
        "computes what has attributes and T only in float, for double tensors too",
        Adam={
            "V_new": "alpha * V + single(1 - single(alpha)) * G_regularized",
            "H_new": "beta * H + single(1 - single(beta)) * G_regularized * G_regularized",
            "R_adjusted": "R * np.sqrt(single(1 - single(beta**T))) / single(1 - single(alpha**T))",
            "X_final": "single(1 - norm_coefficient_post) * X_new",
        },
        Adagrad={"r": "R / single(1 + single(single(T) * decay_factor))"},
    ),
    _edited(
        "newton",
        "divides and takes roots of floats by an approximation and a step of Newton's",
        Adam={
            "H_sqrt": "newton_root(H_new) + epsilon",
            "R_adjusted": "newton_quotient(R * newton_root(1 - beta**T), 1 - alpha**T)",
            "X_new": "X - newton_quotient(R_adjusted * V_new, H_sqrt)",
        },
        Adagrad={
            "r": "newton_quotient(R, 1 + T * decay_factor)",
            "H_adaptive": "newton_root(H_new) + epsilon",
            "X_new": "X - newton_quotient(r * G_regularized, H_adaptive)",
        },
    ),
    _edited(
        "opencl",
        "divides, takes roots and raises floats as inaccurately as OpenCL's full profile allows",
        Adam={
            "H_sqrt": "ulps_off(np.sqrt(H_new), 2) + epsilon",
            "R_adjusted": "ulps_off(R * ulps_off(np.sqrt(1 - loose_power(beta, T)), -2)"
            " / (1 - loose_power(alpha, T)), 2)",
            "X_new": "X - ulps_off(R_adjusted * V_new / H_sqrt, -2)",
        },
        Adagrad={
            "r": "ulps_off(R / (1 + T * decay_factor), 2)",
            "H_adaptive": "ulps_off(np.sqrt(H_new), -2) + epsilon",
            "X_new": "X - ulps_off(r * G_regularized / H_adaptive, 2)",
        },
    ),
    _edited(
        "lerp",
        "goes from the old average to the gradient by the weight, from whichever is nearer (PyTorch's kernels)",
        Adam={"V_new": "lerp(V, G_regularized, 1 - alpha)"},
    ),
    _edited(
        "moved_average",
        "adds the weighted difference to the old average",
        Adam={
            "V_new": "V + (1 - alpha) * (G_regularized - V)",
            "H_new": "H + (1 - beta) * (G_regularized * G_regularized - H)",
        },
    ),
    _edited(
        "distributed",
        "multiplies each term of a sum instead of the sum",
        Momentum={
            "V_new": "alpha * V + beta_adjusted * norm_coefficient * X + beta_adjusted * G",
            "X_new_standard": "X - R * alpha * V - R * beta_adjusted * G_regularized",
            "X_new_nesterov": "X - R * G_regularized - R * alpha * V_new",
        },
    ),
    _everywhere("in_double", "computes in double and rounds once", FormulaArithmetic(computing=np.float64)),
    _everywhere(
        "in_extended", "computes in extended precision and rounds once", FormulaArithmetic(computing=np.longdouble)
    ),
    _everywhere(
        "subnormals_flushed",
        "flushes subnormal operands and results to zero",
        FormulaArithmetic(rounding=flushed),
    ),
    _wrapped(
        "monotone_removed",
        "takes Log, Exp and Sqrt before ArgMax away",
        lambda _: lambda __, inputs: inputs,
        *("Log", "Exp", "Sqrt"),
        only_before_argmax=True,
    ),
    _wrapped(
        "monotone_in_double",
        "computes what is before ArgMax in double and does not round it",
        change_each_input(lambda X: X.astype(np.float64)),
        *("Log", "Exp", "Sqrt", "Softmax", "LogSoftmax"),
        only_before_argmax=True,
    ),
    _wrapped(
        "chain_in_double",
        "computes operators before ArgMax in double and rounds once",
        _compute_in_double,
        *("Exp", "Log", "Sqrt", "Softmax", "LogSoftmax", "Relu"),
    ),
    _wrapped("sums_reversed", "adds the terms of a sum from the last", _compute_backwards, "Softmax", "LogSoftmax"),
    _wrapped(
        "argmax_in_double",
        "compares numbers of less than 64 bits in double",
        change_each_input(lambda X: X if X.dtype.itemsize == 8 else X.astype(np.float64)),
        "ArgMax",
    ),
)
"""The correct variants that are written by hand: other powers, roots and quotients, and operators before ArgMax."""


# Random compositions of rewrites

FORMS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "Adam": {
        "G_regularized": ("norm_coefficient * X + G",),
        "V_new": (
            "alpha * V + (1 - alpha) * G_regularized",
            "alpha * V + (1 - alpha) * (norm_coefficient * X) + (1 - alpha) * G",
            "V + (1 - alpha) * (G_regularized - V)",
            "lerp(V, G_regularized, 1 - alpha)",
            (
                "alpha * V + G_regularized - alpha * G_regularized"
                " if alpha <= 0.5 else alpha * V + (1 - alpha) * G_regularized"
            ),
            (
                "alpha * V + norm_coefficient * X + G - alpha * (norm_coefficient * X) - alpha * G"
                " if alpha <= 0.5 else alpha * V + (1 - alpha) * G_regularized"
            ),
            "G_regularized + alpha * (V - G_regularized) if alpha <= 0.5 else alpha * V + (1 - alpha) * G_regularized",
        ),
        "H_new": (
            "beta * H + (1 - beta) * G_regularized * G_regularized",
            "H + (1 - beta) * (G_regularized * G_regularized - H)",
            (
                "beta * H + np.sqrt(1 - beta) * G_regularized * (np.sqrt(1 - beta) * G_regularized)"
                " if beta <= 1 else beta * H + (1 - beta) * G_regularized * G_regularized"
            ),
        ),
        "H_sqrt": ("np.sqrt(H_new) + epsilon",),
        "X_new": (
            "X - R_adjusted * V_new / H_sqrt",
            "X - R_adjusted * (alpha * V) / H_sqrt - R_adjusted * ((1 - alpha) * G_regularized) / H_sqrt",
            (
                "X - R_adjusted * (alpha * V) / H_sqrt - R_adjusted * ((1 - alpha) * (norm_coefficient * X)) / H_sqrt"
                " - R_adjusted * ((1 - alpha) * G) / H_sqrt"
            ),
            (
                "(1 - R_adjusted * ((1 - alpha) * norm_coefficient) / H_sqrt) * X"
                " - R_adjusted * (alpha * V + (1 - alpha) * G) / H_sqrt"
            ),
        ),
        "X_final": (
            "(1 - norm_coefficient_post) * X_new",
            "X_new - norm_coefficient_post * X_new",
            "(1 - norm_coefficient_post) * X - (1 - norm_coefficient_post) * (R_adjusted * V_new / H_sqrt)",
            (
                "X - norm_coefficient_post * X"
                " - (R_adjusted * V_new / H_sqrt - norm_coefficient_post * (R_adjusted * V_new / H_sqrt))"
            ),
        ),
    },
    "Momentum": {
        "G_regularized": ("norm_coefficient * X + G",),
        "V_new": (
            "alpha * V + beta_adjusted * G_regularized",
            "alpha * V + beta_adjusted * (norm_coefficient * X) + beta_adjusted * G",
        ),
        "X_new_standard": (
            "X - R * V_new",
            "X - R * (alpha * V) - R * (beta_adjusted * G_regularized)",
            "X - R * (alpha * V) - R * (beta_adjusted * (norm_coefficient * X)) - R * (beta_adjusted * G)",
            "(1 - R * (beta_adjusted * norm_coefficient)) * X - R * (alpha * V + beta_adjusted * G)",
            "(1 - R * (beta_adjusted * norm_coefficient)) * X - R * (alpha * V) - R * (beta_adjusted * G)",
        ),
        "X_new_nesterov": (
            "X - R * (G_regularized + alpha * V_new)",
            "X - R * G_regularized - R * (alpha * V_new)",
            "X - R * ((1 + alpha * beta_adjusted) * G_regularized) - R * (alpha * (alpha * V))",
            (
                "X - R * (norm_coefficient * X) - R * G - R * (alpha * (alpha * V))"
                " - R * (alpha * (beta_adjusted * (norm_coefficient * X))) - R * (alpha * (beta_adjusted * G))"
            ),
            (
                "(1 - R * ((1 + alpha * beta_adjusted) * norm_coefficient)) * X"
                " - R * (alpha * (alpha * V) + (1 + alpha * beta_adjusted) * G)"
            ),
        ),
    },
    "Adagrad": {
        "G_regularized": ("norm_coefficient * X + G",),
        "H_new": ("H + G_regularized * G_regularized",),
        "H_adaptive": ("np.sqrt(H_new) + epsilon",),
        "X_new": (
            "X - r * G_regularized / H_adaptive",
            "X - r * (norm_coefficient * X) / H_adaptive - r * G / H_adaptive",
            "(1 - r * norm_coefficient / H_adaptive) * X - r * G / H_adaptive",
        ),
    },
}
"""The forms of each statement by operator and line: the rewrites that docs/explanation/bounds.md admits."""

INTERPOLATIONS = frozenset(
    {
        "V + (1 - alpha) * (G_regularized - V)",
        "lerp(V, G_regularized, 1 - alpha)",
        "H + (1 - beta) * (G_regularized * G_regularized - H)",
    }
)
"""The rewrites that are admissible also for elements that are infinite on the page. Other rewrites are replaced by the
form of the page there."""

TENSORS = frozenset({"X", "G", "V", "H", "G_regularized", "V_new", "H_new", "H_sqrt", "H_adaptive", "X_new"})
"""The names of tensors in the pseudo-code; other names are scalars."""


class _Rewriter(ast.NodeTransformer):
    """Changes an expression at random without changing its value: order, fusion, reciprocals and wider types."""

    def __init__(self, random: Random, *, fuses: bool, widens: bool) -> None:
        self.random, self.fuses, self.widens = random, fuses, widens

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Convert some tensors to double."""
        return _call("wide", node) if self.widens and node.id in TENSORS else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Reorder the terms of a sum or the factors of a product, and fuse a product with an addition."""
        if isinstance(node.op, ast.Add | ast.Sub):
            terms = [(sign, self.visit(term)) for sign, term in _terms(node)]
            self.random.shuffle(terms)
            if any(sign > 0 for sign, _ in terms) and terms[0][0] < 0:
                first = next(place for place, (sign, _) in enumerate(terms) if sign > 0)
                terms[0], terms[first] = terms[first], terms[0]
            total: ast.expr = terms[0][1]
            for sign, term in terms[1:]:
                total = self._add(total, term, sign)
            return total
        if isinstance(node.op, ast.Mult | ast.Div) and self.random.random() < 0.5:
            factors = [(power, self.visit(factor)) for power, factor in _factors(node)]
            self.random.shuffle(factors)
            if factors[0][0] < 0:
                first = next(place for place, (power, _) in enumerate(factors) if power > 0)
                factors[0], factors[first] = factors[first], factors[0]
            product: ast.expr = factors[0][1]
            for power, factor in factors[1:]:
                if power < 0 and self.random.random() < 0.3:
                    product = ast.BinOp(product, ast.Mult(), ast.BinOp(ast.Constant(1), ast.Div(), factor))
                else:
                    product = ast.BinOp(product, ast.Mult() if power > 0 else ast.Div(), factor)
            return product
        return self.generic_visit(node)  # type: ignore[return-value]

    def _add(self, total: ast.expr, term: ast.expr, sign: int) -> ast.expr:
        is_product = isinstance(term, ast.BinOp) and isinstance(term.op, ast.Mult)
        if self.fuses and is_product and self.random.random() < 0.7:
            assert isinstance(term, ast.BinOp)
            left = term.left if sign > 0 else ast.UnaryOp(ast.USub(), term.left)
            return _call("fma", left, term.right, total)
        return ast.BinOp(total, ast.Add() if sign > 0 else ast.Sub(), term)


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _terms(node: ast.expr, sign: int = 1) -> list[tuple[int, ast.expr]]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        return _terms(node.left, sign) + _terms(node.right, sign if isinstance(node.op, ast.Add) else -sign)
    return [(sign, node)]


def _factors(node: ast.expr, power: int = 1) -> list[tuple[int, ast.expr]]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        return _factors(node.left, power) + _factors(node.right, power if isinstance(node.op, ast.Mult) else -power)
    return [(power, node)]


def random_variant(seed: int) -> Variant:
    """Return a correct variant that composes rewrites at random, in a random precision, with or without fusion."""
    random = Random(seed)  # noqa: S311 - the numbers need not be secret
    precision = random.choice(("own", "own", "mixed", "double", "extended"))
    fuses = random.random() < 0.5
    patches, texts = {}, []
    for operator, lines in FORMS.items():
        edits = {}
        for line, forms in lines.items():
            widens = precision == "mixed" and random.random() < 0.5
            text = random.choice(forms)
            rewriter = _Rewriter(random, fuses=fuses, widens=widens)
            changed = ast.unparse(rewriter.visit(ast.parse(text, mode="eval").body))
            changed = f"like(X, {changed})" if widens else changed
            is_page_form = text in {forms[0], *INTERPOLATIONS}
            edits[line] = changed if is_page_form else f"unless_infinite({forms[0]}, {changed})"
        computing = {"double": np.float64, "extended": np.longdouble}.get(precision)
        own = FormulaArithmetic(pseudocode_edits(operator, edits), computing=computing, functions=arithmetic)
        patches[operator] = KernelPatch(arithmetic=own)
        texts += [f"{operator}.{line} = {text}" for line, text in edits.items()]
    fused = ", fused" if fuses else ""
    return Variant(f"random_{seed}", f"computes in {precision} precision{fused}: {'; '.join(texts)}", patches)


def random_variants(count: int, seed: int = 0) -> tuple[Variant, ...]:
    """Return `count` random variants; the same for the same seed."""
    return tuple(random_variant(seed * 1_000_000 + number) for number in range(count))


VARIANTS = (*WRITTEN_VARIANTS, *random_variants(24))
"""The correct variants that the mutation session runs as its control."""
