"""Base class of adapters. It imports nothing of this suite, so that adapters run where the suite is not installed."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = [
    "Adapter",
    "Array",
    "DeviceLost",
    "Prepared",
    "Unsupported",
    "ml_dtype",
    "packed",
    "raise_unsupported",
    "unpacked",
]

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


class Unsupported(Exception):
    """The runtime does not support an operator, type or opset of the model."""


class DeviceLost(BaseException):
    """The runtime cannot use its device again in this process, so the suite starts a new process for the next case."""


class Prepared(Protocol):
    """A model that is ready to run."""

    def run(self, feeds: Mapping[str, Array]) -> Sequence[Any]:
        """Run the model, and return the outputs in the graph's order.

        Args:
            feeds: inputs by name, in the graph's order.

        Raises:
            Unsupported: the runtime reports only now that it does not support the model.
            DeviceLost: each later model would fail too.
        """


class Adapter:
    """Base class of adapters: classes with which the suite runs a released runtime; each adapter has its own file.

    `run` receives the inputs of the model that do not have an initializer; their types and shapes were checked. It must
    return the outputs of the runtime unchanged, so that wrong types are detected.

    An adapter with options can have a class method `check_options(**options)`. It is called before any model is loaded
    and raises ValueError(problem, hint). If its runtime has several providers or devices, the class method
    `required_provider(**options)` returns the provider or device on which every node must run. Its prepared models have
    an attribute `placement`: the number of nodes by provider and operator, or None while it is unknown.

    Attributes:
        is_adapter: distinguishes an adapter from a class with ONNX's interface.
        input_kinds: the kinds of inputs, besides tensors of numbers, that it passes to the runtime: of `string`,
            `sequence`, `map` and `optional`. A model with another input is unsupported.
    """

    __version__ = "unknown"
    is_adapter: ClassVar[bool] = True
    input_kinds: ClassVar[tuple[str, ...]] = ()

    if TYPE_CHECKING:  # an adapter without it is refused; a default here would turn that into a verdict

        @classmethod
        def prepare(cls, model: bytes, device: str = "CPU", **options: Any) -> Prepared:
            """Load a model into the runtime.

            Args:
                model: a serialised ModelProto.
                device: the requested device.
                options: options in brackets after the subject's name.

            Raises:
                Unsupported: the runtime does not support an operator, type or opset.
            """

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Return whether the adapter supports the device; by default only the CPU."""
        return device == "CPU"

    @classmethod
    def required_provider(cls, **_: str) -> str | None:
        """Return the provider or device on which every node must run; None for no requirement."""
        return None


@contextmanager
def raise_unsupported(texts: Iterable[str], *kinds: type[Exception]) -> Iterator[None]:
    """Convert errors of the block to `Unsupported`.

    An error is converted if its class is in `kinds` and its message contains one of `texts`.

    Raises:
        Unsupported: the block raised an error that is converted.
    """
    try:
        yield
    except kinds as error:
        if any(text in str(error) for text in texts):
            raise Unsupported(str(error)) from None
        raise


_BITS_OF_BYTE = 8


def ml_dtype(name: str) -> np.dtype[Any]:
    """Return a type of the package ml_dtypes, such as `float8_e4m3fn`.

    Raises:
        Unsupported: the package is not installed.
    """
    try:
        import ml_dtypes
    except ModuleNotFoundError:
        raise Unsupported("an output needs the package ml_dtypes, which is not installed in this Python") from None
    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return found


def packed(array: Array, bits: int) -> bytes:
    """Return the elements of an array as ONNX packs them: the first element in the lowest bits of a byte."""
    content = np.ascontiguousarray(array).tobytes()
    if bits >= _BITS_OF_BYTE:
        return content
    per_byte = _BITS_OF_BYTE // bits
    elements = np.frombuffer(content, np.uint8) & np.uint8(2**bits - 1)
    elements = np.concatenate([elements, np.zeros(-len(elements) % per_byte, np.uint8)]).reshape(-1, per_byte)
    shifted = elements << np.arange(0, _BITS_OF_BYTE, bits, dtype=np.uint8)
    return bytes(np.bitwise_or.reduce(shifted, axis=1, initial=0).astype(np.uint8).tobytes())


def unpacked(content: bytes, dtype: np.dtype[Any], shape: Sequence[int], bits: int) -> Array:
    """Return the array whose elements `packed` returned as bytes."""
    stored = np.frombuffer(content, np.uint8)
    if bits >= _BITS_OF_BYTE:
        return np.asarray(stored.view(dtype).reshape(shape))
    parts = stored[:, np.newaxis] >> np.arange(0, _BITS_OF_BYTE, bits, dtype=np.uint8) & np.uint8(2**bits - 1)
    elements = parts.reshape(-1)[: int(np.prod(shape))]
    if dtype.name.startswith("int"):  # an element of a signed type has its sign in all bits of its byte
        shift = _BITS_OF_BYTE - bits
        return np.asarray(((elements << np.uint8(shift)).view(np.int8) >> np.int8(shift)).astype(dtype).reshape(shape))
    return np.asarray(elements.astype(np.uint8).view(dtype).reshape(shape))
