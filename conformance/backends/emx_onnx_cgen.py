"""emx-onnx-cgen: a model translated to C, compiled by the C compiler that there is, and run as a program of its own."""

from __future__ import annotations

from functools import lru_cache, partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import jinja2
import onnx
from emx_onnx_cgen.codegen import c_emitter
from emx_onnx_cgen.errors import ShapeInferenceError, UnsupportedOpError
from emx_onnx_cgen.onnx_backend.backend import EmxOnnxCgenBackend as Runtime

from .host import Adapter, Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .host import Array


_SAYS_UNSUPPORTED = ("Cannot compute static shape product", "Missing shape for value", "got (-1")
"""What it says where the size of a dimension is open: its programs have fixed sizes."""

_SAYS_UNTYPED, _TYPED_FROM = "Missing dtype for value", 6
"""What it says where ONNX infers no type of a value, and the opset from which on Log has one."""

_KEPT = 64
"""Models whose programs are kept: to compile one takes most of a second, and a run asks for it more than once."""


class KeptTemplates(jinja2.BytecodeCache):
    """Templates as Python has compiled them: emx-onnx-cgen has all of them compiled anew for each model."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        """Give a template what was made of it before."""
        if bucket.key in self._kept:
            bucket.bytecode_from_string(self._kept[bucket.key])

    def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        """Keep what was made of a template."""
        self._kept[bucket.key] = bucket.bytecode_to_string()


c_emitter.Environment = partial(c_emitter.Environment, bytecode_cache=KeptTemplates())


class PreparedProgram:
    """A compiled program, which reads inputs from a file and prints outputs."""

    def __init__(self, program: Any) -> None:
        self._program = program

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """The outputs in the graph's order."""
        return tuple(self._program.run(list(feeds.values())))


class EmxOnnxCgenBackend(Adapter):
    """Runs models by emx-onnx-cgen, with the optimizations that its own backend has the C compiler make."""

    __version__ = version("emx-onnx-cgen")

    @classmethod
    def prepare(cls, model: bytes, device: str = "CPU", **_: Any) -> PreparedProgram:
        """Translate and compile a model; one that has been compiled lately is taken as it is.

        Raises:
            Unsupported: emx-onnx-cgen says that it has no such operator or type.
        """
        return PreparedProgram(_compiled(model))


@lru_cache(maxsize=_KEPT)
def _compiled(model: bytes) -> Any:
    proto = onnx.load_model_from_string(model)
    try:
        return Runtime.prepare(proto)
    except UnsupportedOpError as error:
        raise Unsupported(str(error)) from None
    except ShapeInferenceError as error:
        is_early = any(opset.domain == "" and opset.version < _TYPED_FROM for opset in proto.opset_import)
        told = (*_SAYS_UNSUPPORTED, *([_SAYS_UNTYPED] if is_early else []))
        if any(text in str(error) for text in told):
            raise Unsupported(str(error)) from None
        raise
