"""IREE on the CPU: its ONNX importer, its compiler (a separate program) and its local runtime."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import iree.runtime
import onnx
from iree.compiler import ir
from iree.compiler.extras import onnx_importer
from iree.compiler.tools import CompilerToolError, compile_str

from .server import Adapter, Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .server import Array


_UNSUPPORTED_TEXTS = (
    "failed to legalize operation 'torch.operator'",
    "function is missing onnx opset version attribute",  # the model has only operators of domains that IREE lacks
    "unhandled torch type",
    "does not support",
    "Unknown ONNX tensor element type",
    "Unsupported builtin tensor type",
)

_KEEP_DOUBLES_OPTION = "--iree-input-demote-f64-to-f32=false"
"""By default, IREE computes double as float, and changes the types of inputs and outputs."""


class PreparedFunction:
    """The entry function of a compiled model."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """Run the model, and return the outputs in the graph's order."""
        found = self._function(*feeds.values())
        outputs = found if isinstance(found, list | tuple) else [found]
        return tuple(output.to_host().copy() for output in outputs)


class IreeBackend(Adapter):
    """Backend that runs models with IREE's llvm-cpu target on the local-sync device."""

    __version__ = version("iree-base-compiler")

    @classmethod
    def prepare(cls, model: bytes, device: str = "CPU", **_: Any) -> PreparedFunction:
        """Import and compile a model.

        Raises:
            Unsupported: IREE has no lowering for an operator, or does not support a type.
        """
        arguments = [_KEEP_DOUBLES_OPTION, "--iree-llvmcpu-target-cpu=host"]
        try:
            proto = onnx.load_model_from_string(model)
            text = _import_to_mlir(onnx.shape_inference.infer_shapes(proto))
            binary = compile_str(text, target_backends=["llvm-cpu"], input_type="onnx", extra_args=arguments)
        except (onnx_importer.OnnxImportError, CompilerToolError) as error:
            violation = _first_error(str(error))
            lacks = any(text in violation for text in _UNSUPPORTED_TEXTS)
            raise (Unsupported if lacks else RuntimeError)(violation) from None
        context = iree.runtime.SystemContext(config=iree.runtime.Config("local-sync"))
        context.add_vm_module(iree.runtime.VmModule.copy_buffer(context.instance, binary))
        return PreparedFunction(context.modules.module[proto.graph.name])


def _import_to_mlir(model: onnx.ModelProto) -> str:
    """Import a model, and return its MLIR text."""
    info = onnx_importer.ModelInfo(model)
    module = info.create_module(context=ir.Context()).operation
    onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
    module.verify()
    return str(module)


def _first_error(text: str) -> str:
    """Return the first error message in the compiler's output, without the command line and the model."""
    return next((line.partition("error: ")[2] for line in text.splitlines() if "error: " in line), text)
