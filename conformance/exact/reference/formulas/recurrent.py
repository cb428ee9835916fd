"""Formulas of the recurrent networks LSTM, GRU and RNN, step by step as on their pages."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, cast

import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.reference.formulas.elementwise import (
    elu,
    exp,
    hard_sigmoid,
    leaky_relu,
    relu,
    sigmoid,
    softplus,
    softplus_of_page,
    softsign,
    tensor,
)
from conformance.exact.reference.formulas.linear import integers, matmul, optional_tensor, sections, stack
from conformance.exact.reference.numbers import elementary
from conformance.exact.reference.numbers.enclosure import Enclosure, admit, hull, is_strict
from conformance.exact.reference.numbers.formula_tensor import T

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Node, NodeFormula

    Activation = Callable[[T], T]
    Step = Callable[[T, tuple[T, ...]], tuple[T, ...]]
    """A function of the input of one step (batch_size, input_size) and the state, which returns the new state."""


_has_exponentials: ContextVar[bool] = ContextVar("_has_exponentials", default=True)
"""Whether Tanh and Softplus may be computed with the exponentials of the page, which overflow."""


def tanh_of_page(X: T) -> T:
    """Return (1 - Exp(-2 X)) / (1 + Exp(-2 X)), which is NaN at level `must` where the exponential overflows."""
    is_written = _has_exponentials.get() and not is_strict()
    overflows = isinstance(X, Enclosure) and is_written and exp(-2.0 * X).error == np.inf
    return X.named("tanh of a cell", elementary.tanh).undetermined(np.asarray(overflows))


def _softplus_of_page(X: Enclosure) -> Enclosure:
    return softplus_of_page(X) if _has_exponentials.get() else softplus(X)


def _thresholded(X: T, alpha: float) -> T:
    """Return X if it is at least alpha, else 0."""
    reach = X.error if isinstance(X, Enclosure) else 0.0
    low, high = (X.where(X.value + sign * reach >= alpha, X.zeros(X.shape)) for sign in (-1, 1))
    return hull(low, high)


ACTIVATIONS: Mapping[str, tuple[Callable[..., Enclosure], tuple[float | None, ...]]] = {
    "Sigmoid": (sigmoid, ()),
    "Tanh": (tanh_of_page, ()),
    "Relu": (relu, ()),
    "Softsign": (softsign, ()),
    "Softplus": (_softplus_of_page, ()),
    "LeakyRelu": (leaky_relu, (float(np.float32(0.01)),)),
    "Elu": (elu, (1.0,)),
    "ThresholdedRelu": (_thresholded, (1.0,)),
    "HardSigmoid": (hard_sigmoid, (float(np.float32(0.2)), 0.5)),
    "ScaledTanh": (lambda X, alpha, beta: alpha * tanh_of_page(beta * X), (None, None)),
    "Affine": (lambda X, alpha, beta: X.constant(alpha).times(X).plus(X.constant(beta)), (None, None)),
}
"""The activations, and the defaults of the numbers alpha and beta that they take, which are those of the operators."""

MAX_STEPS = 4096
"""Maximum number of steps of all directions; a step takes some milliseconds."""

DIRECTIONS: Mapping[str, tuple[int, ...]] = {"forward": (1,), "reverse": (-1,), "bidirectional": (1, -1)}
"""The order in which the steps of each direction are taken: 1 from the first, -1 from the last."""


def _activations(node: Node, direction: int, defaults: Sequence[str]) -> list[Activation[T]]:
    """Return the activations of one direction, whose operands `clip` limits.

    Raises:
        Unsupported: an activation is unknown, or the numbers of activations have two readings.
    """
    chosen: list[Activation[T]] = _unlimited_activations(node, direction, defaults)
    limit = float(node.attributes.get("clip", 0.0))
    return [partial(_clipped, limit, each) for each in chosen] if limit > 0 else chosen


def _unlimited_activations(node: Node, direction: int, defaults: Sequence[str]) -> list[Activation[T]]:
    names: list[str] = node.attributes.get("activations", list(defaults) * 2)
    if any(name not in ACTIVATIONS for name in names):
        raise Unsupported(f"{node.op_type} with the activations {names}")
    numbers = [list(ACTIVATIONS[name][1]) for name in names]
    for place, attribute in enumerate(("activation_alpha", "activation_beta")):
        given = list(node.attributes.get(attribute, []))
        takers = [each for each in numbers if len(each) > place]
        # the values are consumed by the activations that take one, or there is one for each activation
        own = [value for value, each in zip(given, numbers, strict=False) if len(each) > place]
        if len(given) not in (0, len(takers), len(names)) or (len(given) == len(names) and own != given[: len(own)]):
            raise Unsupported(f"{node.op_type} with {len(given)} values of {attribute} for {len(takers)} activations")
        for each, value in zip(takers, given, strict=False):
            each[place] = float(value)
    known = [[number for number in each if number is not None] for each in numbers]
    if known != numbers:
        raise Unsupported(f"{node.op_type} with an activation without its numbers")
    here = slice(len(defaults) * direction, len(defaults) * (direction + 1))
    chosen = [partial(_with_numbers, ACTIVATIONS[name][0], each) for name, each in zip(names, known, strict=True)]
    return [partial(_open_at_nan, each) for each in chosen[here]]


def _with_numbers(function: Callable[..., T], numbers: Sequence[float], X: T) -> T:
    return function(X, *numbers)


def _open_at_nan(activation: Activation[T], X: T) -> T:
    """Return an activation whose result for NaN is open.

    The pages of recurrent operators do not mention NaN, and kernels limit the operand of an activation first. In a sum
    without a bound, an overflow may meet an infinity, which gives NaN.
    """
    may_be_nan = np.isnan(X.value)
    if isinstance(X, Enclosure):
        may_be_nan |= np.isinf(X.error)
    return activation(X).leave_open(may_be_nan, "NaN")


def _clipped(limit: float, activation: Activation[T], X: T) -> T:
    """Return an activation of a clipped tensor; the page of Clip states no result for NaN.

    The limit is a number in float, which a narrower type rounds.
    """
    limits = {"written": limit, "rounded": float(np.asarray(limit).astype(X.dtype))}

    def clipped(x: T) -> T:
        forms = {name: partial(x.apply, partial(np.clip, a_min=-each, a_max=each)) for name, each in limits.items()}
        return admit("Limit of a cell", **forms)

    return _open_at_nan(lambda x: activation(clipped(x)), X)


def _transposed(X: T) -> T:
    return X.moved(np.transpose)


def _split(X: T, count: int) -> list[T]:
    """Return the parts of the last axis, one for each gate."""
    return sections(X, [X.shape[-1] // count] * count)


def _lstm_step(node: Node, direction: int, weights: _Weights[T], peepholes: T | None) -> Step[T]:
    """Return the step of LSTM: i, o, f, c = the gates; C = f C + i c; H = o h(C)."""
    activations: list[Activation[T]] = _activations(node, direction, ("Sigmoid", "Tanh", "Tanh"))
    unlimited: list[Activation[T]] = _unlimited_activations(node, direction, ("Sigmoid", "Tanh", "Tanh"))
    f, g, cell_of_page = activations
    is_coupled = bool(node.attributes.get("input_forget", 0))
    limit = float(node.attributes.get("clip", 0.0))
    h = unlimited[2]
    P = [None] * 3 if peepholes is None else _split(peepholes, 3)

    def gate(sums: T, peephole: T | None, C: T) -> T:
        return sums if peephole is None else sums.plus(peephole.times(C))

    def step(X: T, state: tuple[T, ...]) -> tuple[T, ...]:
        H, C = state
        i, o, forget, c = _split(weights.sums(X, H), 4)
        entered = f(gate(i, P[0], C))
        kept = (1.0 - entered if is_coupled else f(gate(forget, P[2], C))) * C + entered * g(c)
        cell = h(kept)
        if limit > 0:
            cell = admit("Activation of a cell", clipped=lambda: cell_of_page(kept), written=lambda: h(kept))
        return f(gate(o, P[1], kept)) * cell, kept

    return step


def _gru_step(node: Node, direction: int, weights: _Weights[T], _: T | None) -> Step[T]:
    """Return the step of GRU: z, r = the gates; h = the candidate; H = (1 - z) h + z H."""
    activations: list[Activation[T]] = _activations(node, direction, ("Sigmoid", "Tanh"))
    f, g = activations

    def step(X: T, state: tuple[T, ...]) -> tuple[T, ...]:
        (H,) = state
        x = _split(matmul(X, weights.W), 3)
        r_weights = _split(weights.R, 3)
        wb, rb = (
            [None] * 3 if bias is None else _split(bias, 3) for bias in (weights.bias_of_input, weights.bias_of_state)
        )

        def total(part: T, *biases: T | None) -> T:
            for bias in biases:
                part = part if bias is None else part.plus(bias)
            return part

        z, r = (f(total(x[k].plus(matmul(H, r_weights[k])), wb[k], rb[k])) for k in (0, 1))
        if node.attributes.get("linear_before_reset", 0):
            candidate = g(total(x[2], wb[2]).plus(r.times(total(matmul(H, r_weights[2]), rb[2]))))
        else:
            candidate = g(total(x[2].plus(matmul(r * H, r_weights[2])), rb[2], wb[2]))
        return ((1.0 - z) * candidate + z * H,)

    return step


def _rnn_step(node: Node, direction: int, weights: _Weights[T], _: T | None) -> Step[T]:
    """Return the step of RNN: H = f(X W + H R + the biases)."""
    activations: list[Activation[T]] = _activations(node, direction, ("Tanh",))
    (f,) = activations
    return lambda X, state: (f(weights.sums(X, state[0])),)


class _Weights(Generic[T]):
    """The weights of one direction, transposed so that inputs are multiplied from the left.

    Attributes:
        W: weights of the input (input_size, gates hidden_size).
        R: weights of the state (hidden_size, gates hidden_size).
        bias_of_input: the first half of the bias (gates hidden_size); None without bias.
        bias_of_state: its second half.
        quantizes_state: whether the state is quantized to eight bits before it is multiplied.
    """

    def __init__(self, W: T, R: T, B: T | None, *, quantizes_state: bool) -> None:
        self.W = _transposed(W)
        self.R = _transposed(R)
        self.quantizes_state = quantizes_state
        halves: list[T | None] = [None, None]
        if B is not None:
            halves[:] = _split(B, 2)
        self.bias_of_input, self.bias_of_state = halves

    def sums(self, X: T, H: T) -> T:
        """Return X W + H R + the biases: the operands of all gates."""
        total = matmul(X, self.W).plus(matmul(in_eight_bits(H) if self.quantizes_state else H, self.R))
        for bias in (self.bias_of_input, self.bias_of_state):
            total = total if bias is None else total.plus(bias)
        return total


def in_eight_bits(X: T) -> T:
    """Return a tensor that may be quantized to eight bits by the formulas of DynamicQuantizeLinear.

    A number changes by at most half a step: the last step is clipped only if the zero point is rounded up, and then the
    number that it stands for is at most half a step below the largest one. The rounding of scale and quotients in float
    adds less than 2^-12 steps.
    """
    if not isinstance(X, Enclosure) or not X.value.size:
        return X
    step = (np.max(X.value + X.error, initial=0.0) - np.min(X.value - X.error, initial=0.0)) / 255
    return cast("T", replace(X, error=X.error + step * (0.5 + 2.0**-12)))


def _recurrent(node: Node, inputs: Sequence[T | Array | None]) -> list[T]:
    """Return the outputs of a recurrent operator. Elements without a bound because exponentials overflow are open.

    In the first step with an overflow, they are NaN or the result of the function, see `_first_overflows`.
    """
    results = _outputs(node, inputs)
    if is_strict() or not any(isinstance(each, Enclosure) and np.isinf(each.error).any() for each in results):
        return results
    token = _has_exponentials.set(False)
    try:
        others = _outputs(node, inputs)
    finally:
        _has_exponentials.reset(token)
    firsts = _first_overflows(node, inputs, results[0], others[0])
    return [_open_by_exponentials(*each) for each in zip(results, others, firsts, strict=False)]


def _open_by_exponentials(X: T, other: T, is_first: Array) -> T:
    """Return a tensor whose elements are open if they have a bound only without the exponentials of the page.

    Those of `is_first` keep that bound, and may be NaN.
    """
    if not isinstance(X, Enclosure) or not isinstance(other, Enclosure):
        return X
    known = False if X.unspecified is None else X.unspecified
    unbounded = np.isinf(X.error) & np.isfinite(other.error)
    if not unbounded.any():
        return X
    left_open = X.leave_open(unbounded | known, "overflow of an exponential")
    is_narrow = unbounded & is_first
    value = np.where(is_narrow, other.value, left_open.value)
    error = np.where(is_narrow, other.error, left_open.error)
    return cast("T", replace(left_open, value=value, error=error))


def _first_overflows(node: Node, inputs: Sequence[T | Array | None], Y: T, other: T) -> list[Array]:
    """Return where the elements of the outputs Y, Y_h and Y_c belong to the first step in which exponentials overflow.

    There, the quotient of the page for Tanh makes NaN, and any other form the result of the function. In later steps, a
    NaN of the state may become another number: kernels limit the operands of activations. No element does if Softplus,
    whose exponential makes an infinity, is an activation.
    """
    has_softplus = "Softplus" in node.attributes.get("activations", ())
    if has_softplus or not isinstance(Y, Enclosure) or not isinstance(other, Enclosure):
        return [np.zeros((), bool)] * 3
    by_batch = node.attributes.get("layout", 0)
    unbounded = np.isinf(Y.error) & np.isfinite(other.error)
    by_step = unbounded.transpose(1, 2, 0, 3) if by_batch else unbounded
    is_affected: Array = np.any(by_step, axis=-1)  # step, direction, batch
    steps = len(is_affected)
    lengths = inputs[4] if len(inputs) > 4 else None
    ends = np.full(is_affected.shape[2], steps) if lengths is None else np.asarray(integers(cast("Any", lengths)))
    is_first = np.zeros_like(is_affected)
    is_final = np.zeros(is_affected.shape[1:], bool)
    for direction, order in enumerate(DIRECTIONS[node.attributes.get("direction", "forward")]):
        before = np.zeros(is_affected.shape[2], bool)
        for step in range(steps)[::order]:
            is_first[step, direction] = is_affected[step, direction] & ~before
            before |= is_affected[step, direction]
        last = ends - 1 if order > 0 else np.zeros_like(ends)
        is_final[direction] = is_first[np.maximum(last, 0), direction, np.arange(len(last))]
    whole = is_first[..., None]
    final = is_final[..., None]
    if not by_batch:
        return [whole, final, final]
    by_row = np.swapaxes(final, 0, 1)
    return [whole.transpose(2, 0, 1, 3), by_row, by_row]


def _outputs(node: Node, inputs: Sequence[T | Array | None]) -> list[T]:
    """Return the outputs of a recurrent operator.

    A ninth input of GRU and RNN has the states that an implementation returned as Y. Each step then begins with them.
    """
    make_step, states = _STEPS[node.op_type]
    given: list[T | Array | None] = [*inputs, *[None] * (9 - len(inputs))]
    X, W, R = (tensor(each) for each in given[:3])
    B = optional_tensor(given, 3)
    by_batch = node.attributes.get("layout", 0)
    if by_batch:
        X = X.moved(lambda x: np.swapaxes(x, 0, 1))
    returned = optional_tensor(given, 8)
    if returned is not None and by_batch:
        returned = returned.moved(lambda y: y.transpose(1, 2, 0, 3))
    steps = X.shape[0]
    batch = X.shape[1]
    hidden = R.shape[-1]
    lengths = [steps] * batch if given[4] is None else integers(given[4])
    orders = DIRECTIONS[node.attributes.get("direction", "forward")]
    state_shape = (batch, len(orders), hidden) if by_batch else (len(orders), batch, hidden)
    _check_shapes(len(orders), state_shape, (W, R), [optional_tensor(given, 5 + place) for place in range(states)])
    if steps * len(orders) > MAX_STEPS:
        raise Unsupported(f"it is too large: a {node.op_type} of more than {MAX_STEPS:,} steps")
    outputs = []
    finals = []
    for direction, order in enumerate(orders):
        at = partial(np.take, indices=direction, axis=0)
        bias = None if B is None else B.moved(at)
        is_quantized = node.op_type == "DynamicQuantizeLSTM"
        weights = _Weights(W.moved(at), R.moved(at), bias, quantizes_state=is_quantized)
        peepholes = None if states < 2 or given[7] is None else tensor(given[7]).moved(at)
        step = make_step(node, direction, weights, peepholes)
        initial = [optional_tensor(given, 5 + k) for k in range(states)]
        begin = partial(np.take, indices=direction, axis=by_batch)
        state = tuple(X.zeros((batch, hidden)) if each is None else each.moved(begin) for each in initial)
        sequence = []
        began = state
        for t in range(steps)[::order]:
            after = step(X.moved(lambda x, t=t: x[t]), began)  # type: ignore[misc]
            runs = np.array([[t < length] for length in lengths])
            state = tuple(new.where(runs, old) for new, old in zip(after, state, strict=True))
            sequence.append(after[0].where(runs, X.zeros((batch, hidden))))
            began = state
            if returned is not None:
                began = (returned.moved(lambda y, t=t, d=direction: y[t, d]).where(runs, state[0]),)  # type: ignore[misc]
        outputs.append(stack(sequence[::order], 0))
        finals.append(state)
    Y = stack(outputs, 1)
    last = [stack([state[k] for state in finals], 0) for k in range(states)]
    if by_batch:
        Y = Y.moved(lambda y: y.transpose(2, 0, 1, 3))
        last = [each.moved(lambda y: np.swapaxes(y, 0, 1)) for each in last]
    results: list[T] = [Y, *last]
    return results[: max(1, len(node.outputs))]


def _check_shapes(directions: int, state: tuple[int, ...], weights: Iterable[T], states: Iterable[T | None]) -> None:
    """Check the number of directions of weights, and the shape of initial states.

    Raises:
        ValueError: one differs from the page.
    """
    if any(each.shape[0] != directions for each in weights):
        raise ValueError(f"the weights do not have {directions} directions")
    if any(each is not None and each.shape != state for each in states):
        raise ValueError(f"an initial state does not have the shape {list(state)}")


_STEPS: Mapping[str, tuple[Callable[..., Any], int]] = {
    **dict.fromkeys(("LSTM", "DynamicQuantizeLSTM"), (_lstm_step, 2)),
    "GRU": (_gru_step, 1),
    "RNN": (_rnn_step, 1),
}
"""The function that returns the step of one direction, and the number of tensors of the state: H, and C for LSTM."""

FORMULAS: Mapping[str, NodeFormula] = dict.fromkeys(("LSTM", "GRU", "RNN"), _recurrent)
"""Formulas of every kind of tensor."""
