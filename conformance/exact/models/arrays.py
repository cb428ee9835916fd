"""Types and values of ONNX: elements of tensors as NumPy arrays, and other values as objects of Python.

The first part describes the binary floating-point formats and rounds numbers into them correctly. It uses only
integers, `Decimal` and `math.ldexp`, so the result does not depend on the machine or on a library version. The second
part converts between ONNX tensors, ONNX element types and NumPy arrays. The third part is about values of all types. A
tensor is an array, a sequence is a list of values, a map is a dict from texts or integers to texts or numbers, and an
empty optional is None. An optional that is not empty is its value. A tensor of texts is an array of Python's `str`. The
last part prints types and shapes, such as `float[N,3]` or `seq(int64[])`, and compares them.
"""

from __future__ import annotations

import copy
import hashlib
import math
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property, lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import ml_dtypes
import numpy as np
import onnx
from google.protobuf.unknown_fields import UnknownFieldSet  # type: ignore[import-untyped]
from onnx import TensorProto, numpy_helper

from conformance.base.verdicts import Unsupported
from conformance.exact.models.encoded_messages import decode_message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


@dataclass(frozen=True)
class FloatFormat:
    """A binary floating-point format.

    Attributes:
        name: lower-case name of the ONNX element type.
        precision: number of significant bits, including the hidden bit.
        largest_exponent: exponent e of the largest finite value. That value is just below 2**(e + 1).
    """

    name: str
    precision: int
    largest_exponent: int

    @cached_property
    def unit_roundoff(self) -> Decimal:
        """Largest relative error of one rounding to nearest: half a unit in the last place (ULP) of 1."""
        return _power_of_two(-self.precision)

    @cached_property
    def largest(self) -> Decimal:
        """Largest finite value."""
        beyond = self.largest_exponent + 1
        return Decimal(2**beyond - 2 ** (beyond - self.precision))

    @cached_property
    def overflow_threshold(self) -> Decimal:
        """Smallest magnitude that rounds to infinity."""
        beyond = self.largest_exponent + 1
        return Decimal(2**beyond - 2 ** (beyond - self.precision - 1))

    @cached_property
    def smallest_normal(self) -> Decimal:
        """Smallest positive value with all significant bits; smaller values are subnormal."""
        return _power_of_two(1 - self.largest_exponent)

    @cached_property
    def smallest_subnormal(self) -> Decimal:
        """Smallest positive value, which is also the distance between adjacent values up to `smallest_normal`."""
        return _power_of_two(2 - self.largest_exponent - self.precision)

    def round_to_nearest(self, value: Decimal) -> float:
        """Round `value` to this format as IEEE 754 does by default: ties to even, overflow to infinity."""
        if self.precision == DOUBLE.precision or not value.is_finite() or not value:
            return float(value)
        if value.copy_abs() >= self.overflow_threshold:
            return math.copysign(math.inf, value)
        return self._nearest(_rounded_to_odd(value))

    def can_represent(self, value: Decimal) -> bool:
        """Return whether the finite `value` is exactly a value of this format."""
        double = float(value)
        if Decimal(double) != value:
            return False
        return self.precision == DOUBLE.precision or (abs(value) <= self.largest and self._nearest(double) == double)

    def _nearest(self, double: float) -> float:
        """Round a double to this format's precision, ignoring overflow."""
        exponent = max(math.frexp(double)[1], 2 - self.largest_exponent) - self.precision
        return math.copysign(math.ldexp(round(math.ldexp(double, -exponent)), exponent), double)


def _power_of_two(exponent: int) -> Decimal:
    """Return 2**exponent exactly, whatever the precision of the current decimal context is."""
    return Decimal(math.ldexp(1.0, exponent))


def _rounded_to_odd(value: Decimal) -> float:
    """Round `value` to a double with round-to-odd: an inexact result has an odd significand.

    A second rounding, from the double to a narrower format, then gives the correctly rounded result.
    """
    nearest = float(value)
    if math.isinf(nearest) or nearest == value:
        return nearest
    if int(math.ldexp(math.frexp(nearest)[0], DOUBLE.precision)) % 2:
        return nearest
    return math.nextafter(nearest, math.inf if value > nearest else -math.inf)


FLOAT16 = FloatFormat("float16", 11, 15)
BFLOAT16 = FloatFormat("bfloat16", 8, 127)
FLOAT = FloatFormat("float", 24, 127)
DOUBLE = FloatFormat("double", 53, 1023)

FLOAT_FORMATS = {format.name: format for format in (FLOAT16, BFLOAT16, FLOAT, DOUBLE)}


Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


BFLOAT16_DTYPE: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)


@cache
def type_name(dtype: np.dtype[Any]) -> str:
    """Return the lower-case ONNX name of a NumPy element type: `float` for float32, as in `tensor(float)`.

    Raises:
        KeyError: ONNX has no such element type.
    """
    if dtype == BFLOAT16_DTYPE:
        return "bfloat16"
    return str(onnx.TensorProto.DataType.Name(onnx.helper.np_dtype_to_tensor_dtype(dtype))).lower()


@cache
def type_number(name: str) -> int:
    """Return the number in `TensorProto.DataType` of an element type, given by its lower-case name."""
    return int(onnx.TensorProto.DataType.Value(name.upper()))


NEWEST_ELEMENT_TYPE = 28
"""The largest number of an element type, in onnx 1.23."""


def has_element_type(number: int) -> bool:
    """Return whether a number is that of an element type, which the installed onnx may not know."""
    return 0 < number <= NEWEST_ELEMENT_TYPE or number in onnx.TensorProto.DataType.values()[1:]


@cache
def dtype_of(elem_type: int) -> np.dtype[Any]:
    """Return the NumPy type for an ONNX element type, given as a number of `TensorProto.DataType`."""
    if elem_type == onnx.TensorProto.BFLOAT16:
        return BFLOAT16_DTYPE
    return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(elem_type))


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Return whether a type has floating-point numbers, also in a format of less than two bytes."""
    return dtype.kind in "fV" and "int" not in dtype.name


def is_text(dtype: np.dtype[Any]) -> bool:
    """Return whether a type has texts; a tensor of texts is an array of Python's `str`."""
    return dtype.kind in "OUS"


def is_computed(dtype: np.dtype[Any]) -> bool:
    """Return whether the number systems compute with a type; elements of other types are only copied."""
    try:
        return type_name(dtype) in FLOAT_FORMATS
    except (KeyError, ValueError):
        return False


def format_of(dtype: np.dtype[Any]) -> FloatFormat:
    """Return the format of a floating-point type.

    Raises:
        Unsupported: the number systems do not compute with the type.
    """
    if not is_computed(dtype):
        raise Unsupported(f"the reference does not compute with the type {dtype}")
    return FLOAT_FORMATS[type_name(dtype)]


def text_array(array: Array) -> Array:
    """Return an array of texts as the suite has it: of `str`, made from NumPy's type U or from S in UTF-8.

    Raises:
        ValueError: an element is not a text of Unicode.
    """
    elements = array.reshape(-1).tolist()
    texts = [element.decode() if isinstance(element, bytes) else element for element in elements]
    for text in texts:
        if not isinstance(text, str):
            raise ValueError(f"an element of a tensor of texts is of type {type(text).__name__}")  # noqa: TRY004
        text.encode()
    return object_array(texts, array.shape)


def element_bytes(array: Array) -> bytes:
    """Return bytes that two arrays of one type and shape share if and only if they have the same elements."""
    if not array.dtype.hasobject:
        return array.tobytes()
    return b"".join(len(text).to_bytes(8, "little") + text for text in _encoded_texts(array))


def element_byte_count(array: Array) -> int:
    """Return the size of the elements. A text takes its bytes in UTF-8, and 8 for its length."""
    return sum(8 + len(text) for text in _encoded_texts(array)) if array.dtype.hasobject else array.nbytes


def _encoded_texts(array: Array) -> Iterator[bytes]:
    """Yield the elements of an array of objects; an object that is not a text counts by its description."""
    for element in array.flat:
        text = element if isinstance(element, str) else repr(element)
        yield text.encode(errors="surrogatepass")


def equal_elements(first: Array, second: Array, *, with_signs: bool = False) -> Array:
    """Return which elements of two tensors of one type and shape are equal (bool, their shape); NaN equals NaN.

    Args:
        first: a tensor.
        second: another tensor.
        with_signs: whether a negative zero differs from 0.
    """
    same = np.asarray(first == second)
    if first.dtype.kind not in "fV":
        return same
    with np.errstate(invalid="ignore"):  # a signaling NaN of a smaller type
        a, b = (array if array.dtype.kind == "f" else array.astype(np.float64) for array in (first, second))
    same |= np.isnan(a) & np.isnan(b)
    if with_signs:
        same &= (a != 0) | (np.signbit(a) == np.signbit(b))
    return same


def element_distances(first: Array, second: Array) -> Array:
    """Return the distances of the elements of two numeric tensors of one shape (double): 0 for equal ones and two NaN.

    The distance of a number from NaN, and of a finite number from an infinite one, is infinite.
    """
    with np.errstate(all="ignore"):
        a, b = (np.asarray(array, dtype=np.float64) for array in (first, second))
        distance = np.where(equal_elements(a, b), 0.0, np.abs(a - b))
    return np.where(np.isnan(distance), np.inf, distance)


MAX_RANK = 32
"""Maximum number of dimensions of a tensor; the most over which every version of NumPy iterates."""

MAX_SIZE_PRODUCT = 2**59
"""Maximum product of the sizes of a shape that are not 0; NumPy cannot count the bytes of a larger array."""


def check_shape(shape: Sequence[int]) -> None:
    """Check that an array can have a shape, also an array without elements.

    Raises:
        ValueError: the shape has too many dimensions, or a size is negative or too large.
    """
    if len(shape) > MAX_RANK:
        raise ValueError(f"a shape has {len(shape)} dimensions, and {MAX_RANK} are possible")
    if min(shape, default=0) < 0 or prod(size or 1 for size in shape) > MAX_SIZE_PRODUCT:
        raise ValueError(f"the shape {list(shape)} is not possible")


def array_of(tensor: onnx.TensorProto) -> Array:
    """Return a tensor's elements as an array.

    Raises:
        ValueError: the elements are in external data, their number does not match the shape, no array can have the
            shape, or a text is not in UTF-8.
    """
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        raise ValueError(f"the elements of the tensor {tensor.name!r} are in another file")
    check_shape(tensor.dims)
    if tensor.data_type == onnx.TensorProto.STRING:
        if len(tensor.string_data) != prod(tensor.dims):
            raise ValueError(f"the tensor {tensor.name!r} has {len(tensor.string_data)} texts")
        return object_array((text.decode() for text in tensor.string_data), tensor.dims)
    array = numpy_helper.to_array(tensor)
    return array.view(BFLOAT16_DTYPE) if tensor.data_type == onnx.TensorProto.BFLOAT16 else array


def tensor_of(array: Array, name: str = "") -> onnx.TensorProto:
    """Return a tensor that stores these elements in `raw_data`. Strings go to `string_data`."""
    if array.dtype != BFLOAT16_DTYPE:
        return numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
    raw = array.view(np.uint16).astype("<u2").tobytes()
    return onnx.TensorProto(name=name, data_type=onnx.TensorProto.BFLOAT16, dims=array.shape, raw_data=raw)


def object_array(elements: Iterable[Any], shape: Sequence[int]) -> Array:
    """Return an array of dtype `object` with these elements in row-major order."""
    return np.fromiter(elements, dtype=object, count=prod(shape)).reshape(tuple(shape))


Value: TypeAlias = Any
"""An array, a list of values, a dict or None."""


def item_type(type: onnx.TypeProto) -> onnx.TypeProto:
    """Return the innermost element type of nested sequences and optionals; a type of another kind itself."""
    kind = type.WhichOneof("value")
    return item_type(getattr(type, kind).elem_type) if kind in ("sequence_type", "optional_type") else type


_ELEMENTS = {"sequence_type": ("tensor_type",), "optional_type": ("tensor_type", "sequence_type")}
"""The types whose sequences and optionals are inputs of an operator."""


def has_operator(type: onnx.TypeProto) -> bool:
    """Return whether an operator takes values of a type; none takes a sequence of sequences or of maps."""
    kind = type.WhichOneof("value")
    if kind not in _ELEMENTS:
        return kind in ("tensor_type", "map_type")
    element = getattr(type, kind).elem_type
    return element.WhichOneof("value") in _ELEMENTS[kind] and has_operator(element)


def parse_value(content: bytes, type: onnx.TypeProto) -> Value:
    """Return the value in a file of onnx's test data: a tensor, a map, or a sequence or an optional of tensors.

    Raises:
        ValueError: the content has a value of another kind, or see `array_of`.
        DecodeError: the content is damaged, or too large to decode.
    """
    kind = _kind_of(type)
    message = decode_message(content, _MESSAGES[kind])
    if kind != "tensor" and len(UnknownFieldSet(message)):
        raise ValueError(f"it has a message of another type than {type_text(type)}")
    return _value_of(message, type)


_MESSAGES: dict[str, Any] = {
    "tensor": onnx.TensorProto,
    "sequence": onnx.SequenceProto,
    "optional": onnx.OptionalProto,
    "map": onnx.MapProto,
}


def _kind_of(type: onnx.TypeProto) -> str:
    kind = str(type.WhichOneof("value")).removesuffix("_type")
    if kind not in _MESSAGES:
        raise ValueError(f"a value of type {type_text(type)} is not read from a file")
    return kind


def _value_of(message: Any, type: onnx.TypeProto) -> Value:
    kind = _kind_of(type)
    if kind == "tensor":
        return array_of(message)
    if kind == "map":
        return _map_of(message)
    element = getattr(type, f"{kind}_type").elem_type
    field = _field_of(kind, element)
    others = [each.name for each, _ in message.ListFields() if each.name not in (field, "name", "elem_type")]
    if others:
        raise ValueError(f"it has {others[0]} instead of {field}")
    if kind == "sequence":
        return [_value_of(each, element) for each in getattr(message, field)]
    return _value_of(getattr(message, field), element) if message.HasField(field) else None


def _map_of(message: onnx.MapProto) -> dict[Any, Any]:
    """Return a map whose numbers have the types of NumPy.

    Raises:
        ValueError: two keys are equal, a value is not a single element, or keys and values differ in number.
    """
    keys = [*message.keys, *(key.decode() for key in message.string_keys)]
    values = [array_of(each) for each in message.values.tensor_values]
    if len({*keys}) != len(keys) or len(keys) != len(values) or any(each.size != 1 for each in values):
        raise ValueError(f"it is a map with {len({*keys})} keys, and {len(values)} values")
    return {key: each.reshape(-1)[0] for key, each in zip(keys, values, strict=True)}


def _field_of(kind: str, element: onnx.TypeProto) -> str:
    """Return the field of a sequence or an optional that has elements of a type."""
    return f"{_kind_of(element)}_value{'s' if kind == 'sequence' else ''}"


def value_message_of(value: Value, type: onnx.TypeProto, name: str = "") -> Any:
    """Return the message of a value for a file of onnx's test data; see `parse_value`."""
    kind = _kind_of(type)
    if kind == "tensor":
        return tensor_of(value, name)
    if kind == "map":
        return _map_message_of(value, type.map_type, name)
    element = getattr(type, f"{kind}_type").elem_type
    message = _MESSAGES[kind](name=name)
    if value is not None:
        message.elem_type = message.DataType.Value(_kind_of(element).upper())
        items = [value_message_of(each, element) for each in (value if kind == "sequence" else [value])]
        field = getattr(message, _field_of(kind, element))
        field.extend(items) if kind == "sequence" else field.CopyFrom(items[0])
    return message


def map_of_type(value: dict[Any, Any], type: onnx.TypeProto.Map) -> dict[Any, Any]:
    """Return a map whose numbers have the declared type of NumPy; the results of some operators have it too."""
    dtype = dtype_of(type.value_type.tensor_type.elem_type)
    return {key: np.array(each, dtype)[()] for key, each in value.items()}


def _map_message_of(value: dict[Any, Any], type: onnx.TypeProto.Map, name: str) -> onnx.MapProto:
    message = onnx.MapProto(name=name, key_type=type.key_type)
    if type.key_type == TensorProto.STRING:
        message.string_keys.extend(key.encode() for key in value)
    else:
        message.keys.extend(value)
    message.values.elem_type = onnx.SequenceProto.TENSOR
    dtype = dtype_of(type.value_type.tensor_type.elem_type)
    message.values.tensor_values.extend(tensor_of(np.array(each, dtype)) for each in value.values())
    return message


_BYTES_OF_NUMBER = 8


def copy_of_value(value: Value) -> Value:
    """Return a copy that shares no array, list or map with the value."""
    if isinstance(value, list | tuple):
        return [copy_of_value(each) for each in value]
    return value.copy() if isinstance(value, np.ndarray | dict) else value


def value_byte_count(value: Value) -> int:
    """Return the size of a value in bytes; a text takes its characters, and a number of a map takes 8."""
    if isinstance(value, np.ndarray):
        return element_byte_count(value)
    if isinstance(value, list | tuple):
        return sum(map(value_byte_count, value))
    if isinstance(value, dict):
        parts = [each for pair in value.items() for each in pair]
        return sum(_BYTES_OF_NUMBER + (len(each) if isinstance(each, str) else 0) for each in parts)
    return 0


def element_count(value: Any) -> int:
    """Return the number of elements of a tensor, of all tensors of a sequence, or of a map; 0 for None."""
    if isinstance(value, list | tuple):
        return sum(map(element_count, value))
    return len(value) if isinstance(value, dict) else prod(getattr(value, "shape", (0,)))


@lru_cache(maxsize=64)
def _type_text(dtype: np.dtype[Any]) -> str:
    """Return a type as text; NumPy composes the text anew each time, in Python."""
    return str(dtype)


def value_bytes(value: Value) -> bytes:
    """Return bytes that two values share if and only if they have the same types, shapes and elements."""
    if isinstance(value, np.ndarray):
        content = [f"{_type_text(value.dtype)} {value.shape} ".encode(), element_bytes(value)]
    elif isinstance(value, list | tuple):
        content = list(map(value_bytes, value))
    elif isinstance(value, dict):
        items = sorted(value.items(), key=repr)
        content = [repr(items).encode(errors="surrogatepass")]
    else:
        content = [repr(value).encode(errors="surrogatepass")]
    return b"".join(len(part).to_bytes(8, "little") + part for part in content)


def hash_values(values: Iterable[Value]) -> str:
    """Return the SHA-256 of the types, shapes and elements of values."""
    return hashlib.sha256(value_bytes(list(values))).hexdigest()


def have_same_bits(first: Value, second: Value) -> bool:
    """Return whether two values have the same types, shapes and bits, except for the bits of NaN.

    The order of a map does not matter. A value of another kind is compared by its type, and by the digest that a
    harness sent for it.
    """
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return _has_same_elements(first, second)
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(map(have_same_bits, first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_is_same_entry(first[key], second[key]) for key in first)
    digests = [getattr(each, "digest", "") for each in (first, second)]
    return type(first).__name__ == type(second).__name__ and digests[0] == digests[1]


def _has_same_elements(first: Array, second: Array) -> bool:
    """Return whether two tensors have the same type, shape and bits, except for the bits of NaN."""
    if first.dtype != second.dtype or first.shape != second.shape:
        return False
    if first.dtype.kind not in "fV":  # NumPy takes bfloat16 for a type of bytes
        return bool(np.all(first == second))
    word = f"u{first.dtype.itemsize}"
    whole = first.ravel(), second.ravel()
    for start in range(0, first.size, _COMPARED_ELEMENTS):
        own, other = (each[start : start + _COMPARED_ELEMENTS] for each in whole)
        differs = own.view(word) != other.view(word)
        if not all(np.isnan(each[differs].astype(np.float64)).all() for each in (own, other)):
            return False
    return True


_COMPARED_ELEMENTS = 2**20
"""Number of elements that are compared at once, because values of 1 GiB leave little memory."""


def _is_same_entry(first: Any, second: Any) -> bool:
    """Return whether two entries of maps are the same text, the same number with the same sign, or both NaN."""
    if isinstance(first, str) or isinstance(second, str):
        return bool(first == second)
    is_equal = first == second and math.copysign(1.0, first) == math.copysign(1.0, second)
    return bool(is_equal or (math.isnan(first) and math.isnan(second)))


def type_text(type: onnx.TypeProto) -> str:
    """Return a type as text, such as `float[N,3]`. An unknown dimension is `?`; an unknown rank has no brackets."""
    kind = type.WhichOneof("value")
    if kind in {"tensor_type", "sparse_tensor_type"}:
        tensor = type.tensor_type if kind == "tensor_type" else type.sparse_tensor_type
        text = f"{element_type_text(tensor.elem_type)}{shape_text(tensor.shape) if tensor.HasField('shape') else ''}"
        return text if kind == "tensor_type" else f"sparse({text})"
    if kind == "sequence_type":
        return f"seq({type_text(type.sequence_type.elem_type)})"
    if kind == "optional_type":
        return f"optional({type_text(type.optional_type.elem_type)})"
    if kind == "map_type":
        return f"map({element_type_text(type.map_type.key_type)},{type_text(type.map_type.value_type)})"
    return "nothing" if kind is None else str(kind)


def element_type_text(number: int) -> str:
    """Return the lower-case name of an element type, given as a number of `TensorProto.DataType`."""
    known = number in TensorProto.DataType.values()
    return str(TensorProto.DataType.Name(number)).lower() if known else f"type {number}"


def shape_text(dimensions: onnx.TensorShapeProto) -> str:
    """Return a shape as text: `[N,3]`."""
    return f"[{','.join(dimension_text(one) for one in dimensions.dim)}]"


def dimension_text(one: onnx.TensorShapeProto.Dimension) -> str:
    """Return the size or the symbolic name of a dimension, or `?`."""
    if one.HasField("dim_value"):
        return str(one.dim_value)
    return str(one.dim_param) or "?"


def strip_denotations(type: onnx.TypeProto) -> onnx.TypeProto:
    """Return a copy of a type without denotations, which describe the meaning of a type or a dimension."""
    plain = copy.deepcopy(type)
    _clear_denotations(plain)
    return plain


def _clear_denotations(type: onnx.TypeProto) -> None:
    type.ClearField("denotation")
    kind = type.WhichOneof("value")
    if kind in {"tensor_type", "sparse_tensor_type"} and getattr(type, kind).HasField("shape"):
        for one in getattr(type, kind).shape.dim:
            one.ClearField("denotation")
    elif kind in {"sequence_type", "optional_type"}:
        _clear_denotations(getattr(type, kind).elem_type)
    elif kind == "map_type":
        _clear_denotations(type.map_type.value_type)


def is_refinement(after: onnx.TypeProto, before: onnx.TypeProto) -> bool:
    """Return whether `after` equals `before` or is more specific.

    A more specific type gives a size to an unknown or symbolic dimension, a name to an unknown dimension, or a shape to
    a tensor without one.
    """
    return _are_types_compatible(
        after, before, lambda new, old: dimension_text(old) == "?" or bool(old.dim_param and new.HasField("dim_value"))
    )


def adds_only_dimension_names(after: onnx.TypeProto, before: onnx.TypeProto) -> bool:
    """Return whether `after` equals `before`, except for names given to unknown dimensions."""
    if after.tensor_type.HasField("shape") != before.tensor_type.HasField("shape"):
        return False
    return _are_types_compatible(after, before, lambda new, old: dimension_text(old) == "?" and bool(new.dim_param))


def _are_types_compatible(
    after: onnx.TypeProto,
    before: onnx.TypeProto,
    is_allowed: Callable[[onnx.TensorShapeProto.Dimension, onnx.TensorShapeProto.Dimension], bool],
) -> bool:
    """Return whether types are equal, except for a new shape of a tensor and allowed changes of its dimensions.

    Args:
        after: the new type.
        before: the old type.
        is_allowed: function of a new and an old dimension.
    """
    if before.WhichOneof("value") != "tensor_type" or after.WhichOneof("value") != "tensor_type":
        return after == before
    new = after.tensor_type
    old = before.tensor_type
    if new.elem_type != old.elem_type:
        return False
    if not new.HasField("shape") or len(new.shape.dim) != len(old.shape.dim):
        return not old.HasField("shape")
    pairs = zip(new.shape.dim, old.shape.dim, strict=True)
    return all(dimension_text(a) == dimension_text(b) or is_allowed(a, b) for a, b in pairs)


def to_power_of_two(x: Array, mode: str, saturates: bool) -> Array:
    """Return numbers rounded to powers of two, the values of float8e8m0; 0 has the smallest power or NaN.

    Args:
        x: the numbers; the sign is ignored.
        mode: the attribute `round_mode` of Cast.
        saturates: its attribute `saturate`.
    """
    fraction, exponent = np.frexp(np.where(np.isfinite(x), np.abs(x), 1.0))
    # x = fraction 2^exponent with a fraction from 0.5, which is a power of two itself, up to 1
    limit = {"up": 0.5, "down": 1.0, "nearest": 0.75}[mode]
    is_up = fraction > limit if mode == "up" else fraction >= limit
    power = np.ldexp(1.0, np.clip(exponent - 1 + is_up, -1000, 1000))
    power = np.where(x == 0, 0.0, np.where(np.isinf(x), np.inf, power))
    small, large = (2.0**-127, 2.0**127) if saturates else (np.nan, np.nan)
    power = np.where(power < 2.0**-127, small, np.where(power > 2.0**127, large, power))
    return np.where(np.isnan(x), np.nan, power)
