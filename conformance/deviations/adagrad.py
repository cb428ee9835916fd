"""Deviations of Adagrad: what its pseudo-code has been misread for, line by line, and what other libraries do."""

from __future__ import annotations

from conformance.deviations import layout, numbers, surroundings
from conformance.deviations.deviation import Deviation, table
from conformance.deviations.twists import T, reading, scalar
from conformance.verdicts import Level

RATE = "R / (1 + T * decay_factor)"
G_REGULARIZED = "norm_coefficient * X + G"
H_NEW = "H + G_regularized * G_regularized"
H_ADAPTIVE = "np.sqrt(H_new) + epsilon"
STEP = "X - r * G_regularized / H_adaptive"
RESULTS = "return X_new, H_new"

RATES = (
    Deviation("decay_ignored", "ignores decay_factor", "r", {RATE: "R"}),
    Deviation("t_minus_1", "lowers R by T - 1 times decay_factor", "r", {RATE: "R / (1 + (T - 1) * decay_factor)"},
              convention="PyTorch, which counts from 1"),
    Deviation("t_plus_1", "lowers R by T + 1 times decay_factor", "r", {RATE: "R / (1 + (T + 1) * decay_factor)"}),
    Deviation("t_minus_1_above_0", "lowers R by T - 1 times decay_factor where T > 0", "r",
              {RATE: "R / (1 + max(T - 1, 0) * decay_factor)"}),
    Deviation("t_dropped", "lowers R by decay_factor once, whatever T is", "r", {RATE: "R / (1 + decay_factor)"}),
    Deviation("t_switch", "lowers R by decay_factor once where T > 0", "r",
              {RATE: "R / (1 + decay_factor) if T > 0 else R"}),
    Deviation("decay_multiplied", "multiplies R by 1 - T * decay_factor", "r", {RATE: "R * (1 - T * decay_factor)"}),
    Deviation("decay_upside_down", "multiplies R by 1 + T * decay_factor", "r", {RATE: "R * (1 + T * decay_factor)"}),
    Deviation("decay_power", "multiplies R by decay_factor**T", "r", {RATE: "R * decay_factor**T"}),
    Deviation("decay_compound", "divides R by 1 + decay_factor once for every update", "r",
              {RATE: "R / (1 + decay_factor) ** T"}),
    Deviation("decay_shrinking", "multiplies R by 1 - decay_factor once for every update", "r",
              {RATE: "R * (1 - decay_factor) ** T"}),
    Deviation("decay_exponential", "multiplies R by Exp(-T * decay_factor)", "r",
              {RATE: "R * np.exp(-T * decay_factor)"}),
    Deviation("decay_root", "divides R by the square root of 1 + T * decay_factor", "r",
              {RATE: "R / np.sqrt(1 + T * decay_factor)"}),
    Deviation("decay_by_root_of_t", "divides R by 1 + Sqrt(T) * decay_factor", "r",
              {RATE: "R / (1 + np.sqrt(T) * decay_factor)"}),
    Deviation("decay_by_square_of_t", "divides R by 1 + T * T * decay_factor", "r",
              {RATE: "R / (1 + T * T * decay_factor)"}),
    Deviation("decay_without_1", "divides R by T * decay_factor where that is not 0", "r",
              {RATE: "R / (T * decay_factor) if T * decay_factor else R"}),
    Deviation("decay_squared", "divides R by the square of 1 + T * decay_factor", "r",
              {RATE: "R / (1 + T * decay_factor) ** 2"}),
    Deviation("decay_by_precedence", "computes R / 1 + T * decay_factor", "r", {RATE: "R / 1 + T * decay_factor"}),
    Deviation("decay_approximate", "divides R by 1 + T * decay_factor with an instruction good for twelve bits", "r",
              {RATE: "R * coarse(1 / (1 + T * decay_factor))"}),
    Deviation("decay_of_h", "lowers H by decay_factor too", "h_new",
              {H_NEW: "(1 - decay_factor) * H + G_regularized * G_regularized"}),
    Deviation("decay_above_t_0", "does not raise R where T is below 0", "r",
              {RATE: "R / (1 + max(T, 0) * decay_factor)"}),
    Deviation("t_unsigned", "reads T as an unsigned integer", "update_count_type",
              twists=(scalar(T, lambda t: t.astype("u8")),)),
    Deviation("t_low_half", "reads the low half of T as an unsigned 32-bit integer", "update_count_type",
              twists=(scalar(T, lambda t: t.astype("u4")),)),
    Deviation("t_saturated", "reads T as a 32-bit integer that stops at its largest value", "update_count_type",
              twists=(scalar(T, lambda t: t.clip(-(2**31), 2**31 - 1)),)),
    Deviation("t_approximate", "takes T to twelve significant bits", "update_count_type",
              {RATE: "R / (1 + coarse(T) * decay_factor)"}),
    Deviation("rate_in_float", "computes 1 + T * decay_factor in float for double tensors", "attribute_type",
              {RATE: "R / single(1 + T * decay_factor)"}, level=Level.SHOULD),
)  # fmt: skip

GRADIENT = (
    Deviation("norm_ignored", "ignores norm_coefficient", "g_regularized", {G_REGULARIZED: "G"}),
    Deviation("norm_subtracted", "subtracts norm_coefficient * X from the gradient", "g_regularized",
              {G_REGULARIZED: "G - norm_coefficient * X"}),
    Deviation("norm_halved", "adds half of norm_coefficient * X to the gradient", "g_regularized",
              {G_REGULARIZED: "G + norm_coefficient * X / 2"}),
    Deviation("norm_doubled", "adds twice norm_coefficient * X to the gradient", "g_regularized",
              {G_REGULARIZED: "G + 2 * norm_coefficient * X"}),
    Deviation("norm_l1", "regularizes with the sign of X, the gradient of the L1 norm", "g_regularized",
              {G_REGULARIZED: "norm_coefficient * np.sign(X) + G"}),
    Deviation("norm_decoupled", "takes r * norm_coefficient * X off X, apart from the gradient", "g_regularized",
              {G_REGULARIZED: "G", STEP: f"{STEP} - r * norm_coefficient * X"}),
    Deviation("norm_in_step_only", "regularizes the gradient for the step but not for H", "g_regularized",
              {H_NEW: "H + G * G"}),
    Deviation("norm_in_h_only", "regularizes the gradient for H but not for the step", "g_regularized",
              {STEP: "X - r * G / H_adaptive"}),
    Deviation("norm_times_r", "scales norm_coefficient by r before adding it to the gradient", "g_regularized",
              {G_REGULARIZED: "r * norm_coefficient * X + G"}),
    Deviation("norm_at_t_0_only", "regularizes the gradient only where T is 0 or below", "g_regularized",
              {G_REGULARIZED: "(0 if T > 0 else norm_coefficient) * X + G"}),
)  # fmt: skip

SCALE = (
    Deviation("h_replaced", "does not accumulate: takes the square for H_new", "h_new",
              {H_NEW: "G_regularized * G_regularized"}),
    Deviation("h_average", "averages H and the square", "h_new",
              {H_NEW: "0.5 * H + 0.5 * G_regularized * G_regularized"}),
    Deviation("h_decayed", "keeps 0.9 of H and adds 0.1 of the square, as RMSProp does", "h_new",
              {H_NEW: "H - H / 10 + G_regularized * G_regularized / 10"}),
    Deviation("h_absolute", "adds the gradient's magnitude to H", "h_new", {H_NEW: "H + np.abs(G_regularized)"}),
    Deviation("h_linear", "does not square the gradient", "h_new", {H_NEW: "H + G_regularized"}),
    Deviation("h_subtracted", "takes the square off H", "h_new", {H_NEW: "H - G_regularized * G_regularized"}),
    Deviation("h_starts_at_0_1", "adds 0.1 to H at T = 0", "h_new",
              {H_NEW: f"{H_NEW} + (0 if T > 0 else X.dtype.type(0.1))"}, convention="Keras"),
    Deviation("h_scaled_by_r", "adds the square of r * G_regularized to H", "h_new",
              {H_NEW: "H + r * G_regularized * r * G_regularized"}),
    Deviation("h_drops_nan", "holds H_new at zero or above with an fmax that drops NaN", "h_new",
              {H_NEW: f"dropping_nan({H_NEW})"}),
    Deviation("h_magnitude", "takes the root of the magnitude of H_new", "ieee",
              {H_ADAPTIVE: "np.sqrt(np.abs(H_new)) + epsilon"}, level=Level.SHOULD),
    Deviation("epsilon_inside_root", "adds epsilon inside the square root", "h_adaptive",
              {H_ADAPTIVE: "np.sqrt(H_new + epsilon)"}, convention="Keras"),
    Deviation("epsilon_on_both_sides", "adds epsilon inside the square root and outside of it", "h_adaptive",
              {H_ADAPTIVE: "np.sqrt(H_new + epsilon) + epsilon"}),
    Deviation("epsilon_subtracted", "subtracts epsilon from the square root", "h_adaptive",
              {H_ADAPTIVE: "np.sqrt(H_new) - epsilon"}),
    Deviation("epsilon_ignored", "ignores epsilon", "h_adaptive", {H_ADAPTIVE: "np.sqrt(H_new)"}),
    Deviation("epsilon_as_floor", "takes the larger of the square root and epsilon", "h_adaptive",
              {H_ADAPTIVE: "np.maximum(np.sqrt(H_new), epsilon)"}),
    Deviation("epsilon_squared", "adds the square of epsilon inside the square root", "h_adaptive",
              {H_ADAPTIVE: "np.sqrt(H_new + epsilon * epsilon)"}),
    Deviation("epsilon_in_h", "adds epsilon to H_new and returns it so", "h_new",
              {H_NEW: f"{H_NEW} + epsilon", H_ADAPTIVE: "np.sqrt(H_new)"}),
    Deviation("root_missing", "divides by H_new + epsilon without the square root", "h_adaptive",
              {H_ADAPTIVE: "H_new + epsilon"}),
    Deviation("root_of_old_h", "takes the root of H instead of H_new", "h_adaptive",
              {H_ADAPTIVE: "np.sqrt(H) + epsilon"}),
    Deviation("root_in_float", "calls a float square root for double tensors", "tensor_type",
              {H_ADAPTIVE: "single(np.sqrt(H_new)) + epsilon"}),
    Deviation("root_approximate", "takes 1 / Sqrt(H_new) from an instruction good for twelve bits", "h_adaptive",
              {H_ADAPTIVE: "1 / coarse(1 / np.sqrt(H_new)) + epsilon"}),
    Deviation("root_by_bits", "takes 1 / Sqrt(H_new) by shifting bits and one step of Newton's", "h_adaptive",
              {H_ADAPTIVE: "1 / quick_inverse_root(H_new) + epsilon"}),
    Deviation("root_of_third_degree", "takes the third root of H_new", "h_adaptive",
              {H_ADAPTIVE: "np.cbrt(H_new) + epsilon"}),
)  # fmt: skip

STEPS = (
    Deviation("gradient_ascent", "adds the step instead of subtracting it", "x_new", {STEP: STEP.replace("-", "+")}),
    Deviation("step_unscaled", "does not divide the step by H_adaptive", "x_new", {STEP: "X - r * G_regularized"}),
    Deviation("step_of_sign", "steps by the sign of the gradient", "x_new",
              {STEP: "X - r * np.sign(G_regularized) / H_adaptive"}),
    Deviation("step_only", "gives the step instead of the new X", "x_new", {STEP: STEP.removeprefix("X - ")}),
    Deviation("quotient_approximate", "divides by an instruction good for twelve bits", "x_new",
              {STEP: "X - r * G_regularized * coarse(1 / H_adaptive)"}),
    Deviation("epsilon_after_division", "adds epsilon after the division", "h_adaptive",
              {H_ADAPTIVE: "np.sqrt(H_new)", STEP: "X - (r * G_regularized / H_adaptive + epsilon)"}),
    Deviation("x_h_swapped_out", "gives X_new and H_new in each other's place", "results",
              {RESULTS: "return H_new, X_new"}),
    Deviation("root_returned", "gives H_adaptive for H_new", "results", {RESULTS: "return X_new, H_adaptive"}),
    Deviation("state_not_returned", "gives H as it came", "results", {RESULTS: "return X_new, H"}),
)  # fmt: skip

DEFAULTS = (
    Deviation("default_decay", "takes decay_factor for 0.1 where it is not set", "decay_factor_default",
              defaults={"decay_factor": 0.1}),
    Deviation("default_decay_1", "takes decay_factor for 1 where it is not set", "decay_factor_default",
              defaults={"decay_factor": 1.0}),
    Deviation("default_epsilon_0", "takes epsilon for 0 where it is not set, as the page prints it",
              "epsilon_default", defaults={"epsilon": 0.0}),
    Deviation("default_epsilon_1e10", "takes epsilon for 1e-10 where it is not set", "epsilon_default",
              defaults={"epsilon": 1e-10}, convention="PyTorch"),
    Deviation("default_epsilon_1e7", "takes epsilon for 1e-7 where it is not set", "epsilon_default",
              defaults={"epsilon": 1e-7}, convention="Keras"),
    Deviation("default_norm", "takes norm_coefficient for 0.001 where it is not set", "norm_coefficient_default",
              defaults={"norm_coefficient": 0.001}),
    Deviation("epsilon_not_read", "uses the default of epsilon even where it is set", "h_adaptive",
              twists=(reading(lambda given: {**given, "epsilon": 1e-6}),)),
)  # fmt: skip

ADAGRAD = table(
    "Adagrad",
    "adagrad",
    (
        *RATES,
        *GRADIENT,
        *SCALE,
        *STEPS,
        *DEFAULTS,
        *numbers.ROWS,
        *layout.rows("Adagrad"),
        *surroundings.rows("Adagrad", "x_new"),
    ),
)
"""Every deviation of Adagrad."""
