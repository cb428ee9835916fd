"""emx-onnx-cgen: the model is translated to C, compiled with the installed C compiler, and run as a program."""

from __future__ import annotations

from functools import lru_cache, partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import jinja2
import onnx
from emx_onnx_cgen.codegen import c_emitter
from emx_onnx_cgen.errors import ShapeInferenceError, UnsupportedOpError
from emx_onnx_cgen.onnx_backend.backend import EmxOnnxCgenBackend as Runtime

from .server import Adapter, Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .server import Array


_UNSUPPORTED_TEXTS = ("Cannot compute static shape product", "Missing shape for value", "got (-1")
"""Texts of errors for a dimension of unknown size: the programs have fixed sizes."""

_UNTYPED_TEXT, _TYPED_SINCE_OPSET = "Missing dtype for value", 6
"""Text of the error for a value without an inferred type, and the opset since which ONNX infers the type of Log."""

_CACHED_MODELS = 64
"""Number of models whose programs are cached: compiling takes almost a second, and a run loads a model repeatedly."""


class TemplateCache(jinja2.BytecodeCache):
    """Cache of compiled Jinja templates; without the cache, emx-onnx-cgen compiles all templates for each model."""

    def __init__(self) -> None:
        self._bytecode: dict[str, bytes] = {}

    def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        """Load the bytecode of a template, if it is cached."""
        if bucket.key in self._bytecode:
            bucket.bytecode_from_string(self._bytecode[bucket.key])

    def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        """Cache the bytecode of a template."""
        self._bytecode[bucket.key] = bucket.bytecode_to_string()


c_emitter.Environment = partial(c_emitter.Environment, bytecode_cache=TemplateCache())


class PreparedProgram:
    """A compiled program, which reads inputs from a file and prints outputs."""

    def __init__(self, program: Any) -> None:
        self._program = program

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """Run the model, and return the outputs in the graph's order."""
        return tuple(self._program.run(list(feeds.values())))


class EmxOnnxCgenBackend(Adapter):
    """Backend that runs models with emx-onnx-cgen, with the compiler options of its own backend."""

    __version__ = version("emx-onnx-cgen")

    @classmethod
    def prepare(cls, model: bytes, device: str = "CPU", **_: Any) -> PreparedProgram:
        """Translate and compile a model, or return its cached program.

        Raises:
            Unsupported: emx-onnx-cgen does not support an operator or type.
        """
        return PreparedProgram(_compile(model))


@lru_cache(maxsize=_CACHED_MODELS)
def _compile(model: bytes) -> Any:
    proto = onnx.load_model_from_string(model)
    try:
        return Runtime.prepare(proto)
    except UnsupportedOpError as error:
        raise Unsupported(str(error)) from None
    except ShapeInferenceError as error:
        is_early = any(opset.domain == "" and opset.version < _TYPED_SINCE_OPSET for opset in proto.opset_import)
        texts = (*_UNSUPPORTED_TEXTS, *([_UNTYPED_TEXT] if is_early else []))
        if any(text in str(error) for text in texts):
            raise Unsupported(str(error)) from None
        raise
