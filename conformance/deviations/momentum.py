"""Deviations of Momentum: what its pseudo-code has been misread for, line by line, and what other libraries do."""

from __future__ import annotations

from conformance.deviations import layout, numbers, surroundings
from conformance.deviations.deviation import Deviation, table
from conformance.deviations.twists import T, reading, scalar

G_REGULARIZED = "norm_coefficient * X + G"
SWITCH = "beta if T > 0 else 1"
V_NEW = "alpha * V + beta_adjusted * G_regularized"
STANDARD = "X - R * V_new"
NESTEROV = "X - R * (G_regularized + alpha * V_new)"
IS_STANDARD = 'if mode == "standard"'
IS_NESTEROV = 'elif mode == "nesterov"'
RESULTS = "return X_new, V_new"

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
    Deviation("norm_decoupled", "takes R * norm_coefficient * X off X, apart from the gradient", "g_regularized",
              {G_REGULARIZED: "G", RESULTS: "return X_new - R * norm_coefficient * X, V_new"},
              convention="SGDW"),
    Deviation("norm_of_v", "adds norm_coefficient * V to the gradient", "g_regularized",
              {G_REGULARIZED: "norm_coefficient * V + G"}),
    Deviation("norm_unweighted", "adds norm_coefficient * X to V_new after beta has weighted the gradient",
              "g_regularized",
              {V_NEW: "alpha * V + beta_adjusted * G + norm_coefficient * X"}),
    Deviation("norm_times_r", "scales norm_coefficient by R before adding it to the gradient", "g_regularized",
              {G_REGULARIZED: "R * norm_coefficient * X + G"}),
    Deviation("norm_at_t_0_only", "regularizes the gradient only where T is 0 or below", "g_regularized",
              {G_REGULARIZED: "(0 if T > 0 else norm_coefficient) * X + G"}),
)  # fmt: skip

WEIGHTS = (
    Deviation("beta_ignored", "ignores beta", "beta_adjusted", {SWITCH: "1"}),
    Deviation("beta_always", "weights the gradient by beta whatever T is", "t_switch", {SWITCH: "beta"}),
    Deviation("beta_from_t_0", "weights the gradient by beta where T >= 0", "t_switch",
              {SWITCH: "beta if T >= 0 else 1"}),
    Deviation("beta_from_t_2", "weights the gradient by beta where T > 1", "t_switch",
              {SWITCH: "beta if T > 1 else 1"}),
    Deviation("beta_unless_t_0", "weights the gradient by beta where T is not 0, as with an unsigned T", "t_switch",
              {SWITCH: "beta if T != 0 else 1"}),
    Deviation("beta_at_t_0", "weights the gradient by beta at T = 0 and by 1 after it", "t_switch",
              {SWITCH: "1 if T > 0 else beta"}),
    Deviation("t_low_half", "reads the low half of T as an unsigned 32-bit integer", "update_count_type",
              twists=(scalar(T, lambda t: t.astype("u4")),)),
    Deviation("dampened", "weights the gradient by 1 - beta where T > 0", "beta_adjusted",
              {SWITCH: "1 - beta if T > 0 else 1"}, convention="PyTorch, where beta is its dampening"),
    Deviation("average", "weights the gradient by 1 - alpha", "beta_adjusted", {SWITCH: "1 - alpha"}),
    Deviation("beta_power", "weights the gradient by beta**T", "beta_adjusted",
              {SWITCH: "beta**T if T > 0 else 1"}),
    Deviation("alpha_beta_swapped", "uses alpha and beta in each other's place", "v_new",
              twists=(reading(lambda given: {**given, "alpha": given["beta"], "beta": given["alpha"]}),)),
    Deviation("beta_of_v", "weights V by beta too", "v_new", {V_NEW: "beta_adjusted * (alpha * V + G_regularized)"}),
    Deviation("beta_of_v_only", "weights V by beta and the gradient by alpha", "v_new",
              {V_NEW: "beta_adjusted * V + alpha * G_regularized"}),
    Deviation("first_step_without_v", "ignores V at T = 0", "v_new",
              {V_NEW: f"{V_NEW} if T > 0 else G_regularized"}, convention="PyTorch"),
    Deviation("v_not_decayed", "adds the gradient to the whole of V", "v_new",
              {V_NEW: "V + beta_adjusted * G_regularized"}),
    Deviation("v_replaced", "ignores V", "v_new", {V_NEW: "beta_adjusted * G_regularized"}),
    Deviation("v_raw_gradient", "adds the gradient without regularization to V", "v_new",
              {V_NEW: "alpha * V + beta_adjusted * G"}),
    Deviation("v_subtracted", "subtracts the gradient from V and adds R * V_new to X", "v_new",
              {V_NEW: "alpha * V - beta_adjusted * G_regularized", STANDARD: "X + R * V_new",
               NESTEROV: "X + R * (alpha * V_new - G_regularized)"}),
    Deviation("v_with_r", "multiplies the gradient in V_new by R, and adds V_new to X", "v_new",
              {V_NEW: "alpha * V - R * beta_adjusted * G_regularized", STANDARD: "X + V_new",
               NESTEROV: "X + alpha * V_new - R * G_regularized"}, convention="Keras"),
    Deviation("v_scaled_by_r", "gives R * V_new for V_new", "v_new",
              {RESULTS: "return X_new, R * V_new"}),
    Deviation("v_negated", "gives V_new with the opposite sign", "v_new", {RESULTS: "return X_new, -V_new"}),
    Deviation("v_look_ahead", "gives what Nesterov's step multiplies by R for V_new", "v_new",
              {RESULTS: 'return X_new, V_new if mode == "standard" else G_regularized + alpha * V_new'}),
    Deviation("v_drops_nan", "adds V only where it compares with itself, which drops NaN", "v_new",
              {V_NEW: "alpha * zero_for_nan(V) + beta_adjusted * G_regularized"}),
)  # fmt: skip

STEPS = (
    Deviation("step_of_old_v", "steps by V instead of V_new in mode standard", "x_new_standard",
              {STANDARD: "X - R * V"}),
    Deviation("step_of_gradient", "steps by the gradient instead of V_new in mode standard", "x_new_standard",
              {STANDARD: "X - R * G_regularized"}),
    Deviation("gradient_ascent", "adds the step instead of subtracting it", "x_new_standard",
              {STANDARD: "X + R * V_new", NESTEROV: NESTEROV.replace("-", "+")}),
    Deviation("step_ignores_r", "steps without R", "x_new_standard",
              {STANDARD: "X - V_new", NESTEROV: NESTEROV.replace("R * ", "")}),
    Deviation("step_only", "gives the step instead of the new X", "x_new_standard",
              {STANDARD: "R * V_new", NESTEROV: NESTEROV.replace("X - ", "")}),
    Deviation("step_without_beta", "steps by alpha * V + G_regularized in mode standard", "x_new_standard",
              {STANDARD: "X - R * (alpha * V + G_regularized)"}),
    Deviation("always_standard", "ignores mode and always computes standard", "mode", {IS_STANDARD: "if True"}),
    Deviation("always_nesterov", "ignores mode and always computes nesterov", "mode",
              {IS_STANDARD: "if False", IS_NESTEROV: "elif True"}),
    Deviation("modes_swapped", "computes each mode for the other", "mode",
              {IS_STANDARD: 'if mode == "nesterov"', IS_NESTEROV: 'elif mode == "standard"'}),
    Deviation("nesterov_above_t_0", "computes nesterov only where T > 0", "mode",
              {IS_STANDARD: 'if mode == "standard" or T <= 0'}),
    Deviation("nesterov_refused", "raises an error for mode nesterov", "mode", {IS_NESTEROV: "elif False"}),
    Deviation("nesterov_with_beta", "weights the gradient by beta in Nesterov's step", "x_new_nesterov",
              {NESTEROV: "X - R * (beta_adjusted * G_regularized + alpha * V_new)"}),
    Deviation("nesterov_raw_gradient", "steps by the gradient without regularization in mode nesterov",
              "x_new_nesterov", {NESTEROV: "X - R * (G + alpha * V_new)"}),
    Deviation("nesterov_of_old_v", "uses V instead of V_new in mode nesterov", "x_new_nesterov",
              {NESTEROV: "X - R * (G_regularized + alpha * V)"}),
    Deviation("nesterov_without_alpha", "adds the whole of V_new in mode nesterov", "x_new_nesterov",
              {NESTEROV: "X - R * (G_regularized + V_new)"}),
    Deviation("nesterov_alpha_squared", "weights V_new by alpha twice in mode nesterov", "x_new_nesterov",
              {NESTEROV: "X - R * (G_regularized + alpha * alpha * V_new)"}),
    Deviation("nesterov_of_v_only", "steps by alpha * V_new alone in mode nesterov", "x_new_nesterov",
              {NESTEROV: "X - R * alpha * V_new"}),
    Deviation("nesterov_r_once", "multiplies only the gradient by R in mode nesterov", "x_new_nesterov",
              {NESTEROV: "X - (R * G_regularized + alpha * V_new)"}),
    Deviation("nesterov_beta_of_v", "weights V_new by beta in mode nesterov", "x_new_nesterov",
              {NESTEROV: "X - R * (G_regularized + beta_adjusted * V_new)"}),
    Deviation("step_approximate", "multiplies the step by R rounded to twelve bits", "learning_rate_type",
              {STANDARD: "X - coarse(R) * V_new", NESTEROV: NESTEROV.replace("R *", "coarse(R) *")}),
    Deviation("x_v_swapped_out", "gives X_new and V_new in each other's place", "results",
              {RESULTS: "return V_new, X_new"}),
    Deviation("state_not_returned", "gives V as it came", "results", {RESULTS: "return X_new, V"}),
    Deviation("v_in_float", "computes alpha * V + beta * G in float for double tensors", "tensor_type",
              {V_NEW: f"single({V_NEW})"}),
)  # fmt: skip

MOMENTUM = table(
    "Momentum",
    "momentum",
    (
        *GRADIENT,
        *WEIGHTS,
        *STEPS,
        *numbers.ROWS,
        *layout.rows("Momentum"),
        *surroundings.rows("Momentum", "x_new_standard"),
    ),
)
"""Every deviation of Momentum."""
