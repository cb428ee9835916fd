"""A Python function as a backend: it computes one operator on arrays of NumPy, in a process of its own."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from .server import Adapter, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .server import Array


class KernelFault(Exception):
    """A kernel changed its inputs or an earlier output, or returned memory that is not its own."""


class CheckedKernel:
    """A function whose calls are checked: it must keep its inputs and its earlier outputs, and return new arrays.

    Args:
        function: the function; it takes arrays of NumPy, and returns an array, or a list or tuple of arrays. They may
            be of another library whose arrays NumPy reads.
        may_return_views: whether an output may share memory with an input, as a view of NumPy does.
        is_contiguous: whether all inputs are contiguous. Otherwise, those of two calls in four have other strides.
    """

    def __init__(
        self, function: Callable[..., Any], *, may_return_views: bool = False, is_contiguous: bool = False
    ) -> None:
        self._function = function
        self._may_return_views = may_return_views
        self._is_contiguous = is_contiguous
        self._calls = 0
        self._last: list[tuple[Array, bytes]] = []
        self._buffers: dict[tuple[int, bool], Array] = {}

    def call(self, inputs: Sequence[Array | None]) -> list[Any]:
        """Call the function on copies of arrays, and return its outputs.

        Raises:
            KernelFault: the function changed an input or the outputs of the call before, or returned a view.
            Unsupported: it raises NotImplementedError.
        """
        self._calls += 1
        given = [self._buffer(place, each) for place, each in enumerate(inputs)]
        try:
            result = self._function(*given)
        except NotImplementedError as error:
            raise Unsupported(str(error) or "the kernel raises NotImplementedError") from None
        outputs = list(map(_as_array, result if isinstance(result, (list, tuple)) else [result]))
        for place, (own, each) in enumerate(zip(given, inputs, strict=True)):
            if own is not None and each is not None and _content(own) != _content(each):
                raise KernelFault(f"input {place} is overwritten")
        arrays = [each for each in outputs if isinstance(each, np.ndarray)]
        for place, array in enumerate(arrays):
            if not self._may_return_views and any(np.may_share_memory(array, own) for own in given if own is not None):
                raise KernelFault(f"output {place} is a view of an input")
            if not array.dtype.isnative:
                raise KernelFault(f"output {place} has its bytes in the order of another machine")
            if any(np.may_share_memory(array, last) for last, _ in self._last):
                raise KernelFault(f"output {place} has the memory of an output of the call before")
        if any(_content(last) != content for last, content in self._last):
            raise KernelFault("an output of the call before is overwritten")
        self._last = [(array, _content(array)) for array in arrays]
        return [each.copy() if isinstance(each, np.ndarray) else each for each in outputs]

    def _buffer(self, place: int, array: Array | None) -> Array | None:
        """Return a copy of an input, in the memory of the same input of the call before if it fits.

        A kernel that keeps results by the addresses of its inputs returns earlier ones.
        """
        if array is None:
            return None
        array = np.asarray(array)  # arithmetic of NumPy makes a scalar of an array without axes
        is_strided = not self._is_contiguous and self._calls % 4 in (0, 3)
        key = (place, is_strided)
        last = self._buffers.get(key)
        is_same = last is not None and (last.dtype, last.shape) == (array.dtype, array.shape)
        if last is None or not is_same or self._may_return_views:  # the output of the call before may be a view of it
            self._buffers[key] = _with_strides(array) if is_strided else array.copy()
        else:
            np.copyto(last, array)
        return self._buffers[key]


def _with_strides(array: Array) -> Array:
    """Return a copy of an array with the first axis next in memory, and with a gap behind each element."""
    memory = np.empty((*array.shape[::-1], 2), array.dtype)
    copy = memory[..., 0].T
    copy[...] = array
    return copy


def _as_array(output: Any) -> Any:
    """Return an array of another library as one of NumPy with the same memory; anything else stays as it is."""
    if isinstance(output, np.ndarray) or not hasattr(output, "__array__"):
        return output
    with suppress(Exception):  # an array with a gradient, or on a device
        return np.asarray(output)
    return output


def _content(array: Array) -> bytes:
    return f"{array.dtype} {array.shape}".encode() + array.tobytes()


class PreparedKernel:
    """A checked kernel that receives inputs by name; a model declares only the inputs that are given."""

    def __init__(self, kernel: CheckedKernel, names: Sequence[str]) -> None:
        self._kernel = kernel
        self._names = names

    def run(self, feeds: Mapping[str, Array]) -> list[Any]:
        """Call the function, and return its outputs."""
        return self._kernel.call([feeds[name] if name else None for name in self._names])


def _import_function(text: str) -> Callable[..., Any]:
    """Return the function `module:name`.

    Raises:
        ValueError: there is no such module or function.
    """
    module, _, name = text.partition(":")
    hint = "Write package.module:function, with a module that can be imported from the current directory."
    if not module or not name:
        raise ValueError(f"The kernel {text} names no function of a module.", hint)
    try:
        imported = import_module(module)
    except (ImportError, ValueError) as error:
        raise ValueError(f"The module of the kernel {text} cannot be imported: {error}.", hint) from None
    if not hasattr(imported, name):
        raise ValueError(f"The module {module} has no function {name}.", hint)
    function = getattr(imported, name)
    if not callable(function):
        raise ValueError(f"The kernel {text} is no function.", hint)  # noqa: TRY004 - the interface of adapters
    checked: Callable[..., Any] = function
    return checked


class KernelBackend(Adapter):
    """Backend whose model of one node is computed by the function that the option `function` names."""

    _kernels: dict[tuple[str, str, str], CheckedKernel] = {}  # noqa: RUF012

    @classmethod
    def check_options(cls, *, function: str = "", **_: Any) -> None:
        """Import the function.

        Raises:
            ValueError: there is no such module or function.
        """
        _import_function(function)

    @classmethod
    def prepare(
        cls,
        model: bytes,
        device: str = "CPU",
        *,
        function: str = "",
        views: str = "no",
        contiguous: str = "no",
        **_: Any,
    ) -> PreparedKernel:
        """Import the function, and return it for the inputs of the model's node."""
        import onnx

        key = (function, views, contiguous)
        if key not in cls._kernels:
            cls._kernels[key] = CheckedKernel(
                _import_function(function), may_return_views=views == "yes", is_contiguous=contiguous == "yes"
            )
        node = onnx.load_model_from_string(model).graph.node[0]
        return PreparedKernel(cls._kernels[key], list(node.input))
