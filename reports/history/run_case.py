"""Run cases of the corpus on a runtime without the suite: only onnx, NumPy and the runtime are imported.

python run_case.py onnxruntime|onnx-reference|onnxsim|onnxoptimizer CASE_FOLDER...
"""

import multiprocessing
import signal
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper


def tensors(folder, kind):
    files = sorted(folder.glob(f"{kind}_*.pb"), key=lambda path: int(path.stem.partition("_")[2]))
    return {
        int(path.stem.partition("_")[2]): numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))
        for path in files
    }


def run(runtime, model, feeds):
    if runtime == "onnxruntime":
        import onnxruntime

        return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(
            None, feeds
        )
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(model).run(None, feeds)


def problem_of_outputs(runtime, model, folder):
    data = folder / "test_data_set_0"
    fed = [value.name for value in model.graph.input]
    names = (
        fed
        if len(tensors(data, "input")) == len(fed)
        else [name for name in fed if name not in {each.name for each in model.graph.initializer}]
    )
    came = run(runtime, model, dict(zip(names, tensors(data, "input").values(), strict=False)))
    bounds, accept = tensors(data, "bound"), tensors(data, "accept")
    for number, wanted in tensors(data, "output").items():
        got = np.asarray(came[number])
        if got.dtype != wanted.dtype or got.shape != wanted.shape:
            return f"output {number} is {got.dtype}{list(got.shape)} instead of {wanted.dtype}{list(wanted.shape)}"
        if number in accept:
            right = np.take_along_axis(accept[number], got[..., None], -1)[..., 0]
        elif number in bounds:
            right = (
                (np.abs(got.astype(float) - wanted.astype(float)) <= bounds[number])
                | (got == wanted)
                | (np.isnan(got) & np.isnan(wanted))
            )
        else:
            right = (got == wanted) | ((got != got) & (wanted != wanted))
        if not right.all():
            return f"output {number} is {got.ravel()[~right.ravel()][0]} instead of {wanted.ravel()[~right.ravel()][0]}"
    return ""


def problem_of_rewrite(runtime, model):
    if runtime == "onnxsim":
        import onnxsim

        after = onnxsim.simplify(model)[0]
    else:
        import onnxoptimizer

        after = onnxoptimizer.optimize(model, ["eliminate_nop_monotone_argmax"])
    for kind in ("input", "output"):
        before_names, after_names = ([value.name for value in getattr(each.graph, kind)] for each in (model, after))
        if before_names != after_names:
            return f"{kind}s are {after_names} instead of {before_names}"
    onnx.checker.check_model(after, full_check=True)
    return ""


def run_case(runtime, folder):
    model = onnx.load(folder / "model.onnx")
    try:
        problem = (
            problem_of_rewrite(runtime, model)
            if runtime in {"onnxsim", "onnxoptimizer"}
            else problem_of_outputs(runtime, model, folder)
        )
    except Exception as error:
        problem = f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
    print(f"{folder.name}: {'WRONG: ' + problem if problem else 'right'}", flush=True)


if __name__ == "__main__":
    for each in map(Path, sys.argv[2:]):
        child = multiprocessing.get_context("spawn").Process(target=run_case, args=(sys.argv[1], each))
        child.start()
        child.join()
        if child.exitcode < 0:
            print(f"{each.name}: WRONG: killed by {signal.Signals(-child.exitcode).name}", flush=True)
