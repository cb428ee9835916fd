// Expected outputs, and the comparison with a runtime's outputs: docs/how-to/judge-without-python.md in C++.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "argmax.hpp"

/// An element type: its number in TensorProto.DataType, its name, and the bytes of an element.
struct ElementType {
    std::int64_t number;
    const char *name;
    std::size_t size;
};

inline const ElementType kElementTypes[] = {
    {1, "float", 4},  {2, "uint8", 1},   {3, "int8", 1},    {4, "uint16", 2},  {5, "int16", 2},   {6, "int32", 4},
    {7, "int64", 8},  {9, "bool", 1},    {10, "float16", 2}, {11, "double", 8}, {12, "uint32", 4}, {13, "uint64", 8},
    {16, "bfloat16", 2},
};

template <class Matches>
const ElementType &element_type(Matches matches) {
    for (const ElementType &type : kElementTypes)
        if (matches(type)) return type;
    throw std::runtime_error("an element type that the corpus does not use");
}

/// The tensor in a .pb file; the corpus stores elements only in `raw_data`.
inline Tensor read_tensor(const std::string &path) {
    const std::string content = content_of(path);
    const Message message = fields(content);
    Tensor tensor;
    for (auto [each, end] = message.equal_range(1); each != end; ++each) tensor.shape.push_back(each->second.integer);
    const std::int64_t number = only(message, 2).integer;
    tensor.dtype = element_type([&](const ElementType &type) { return type.number == number; }).name;
    tensor.bytes = std::string{only(message, 9).bytes};
    return tensor;
}

template <class T>
T element(const Tensor &tensor, std::size_t index) {
    T value;
    std::memcpy(&value, tensor.bytes.data() + index * sizeof(T), sizeof(T));
    return value;
}

inline double half(std::uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31 ? (fraction ? std::nan("") : std::numeric_limits<double>::infinity())
                        : exponent     ? std::ldexp(1024 + fraction, exponent - 25)
                                       : std::ldexp(fraction, -24);
    return bits >> 15 ? -size : size;
}

inline double brain(std::uint16_t bits) {
    const std::uint32_t wide = std::uint32_t(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
}

inline bool is_floating(const Tensor &tensor) {
    return tensor.dtype == "float" || tensor.dtype == "double" || tensor.dtype == "float16" ||
           tensor.dtype == "bfloat16";
}

/// An element of a floating-point tensor, converted to double without rounding.
inline double number(const Tensor &tensor, std::size_t index) {
    if (tensor.dtype == "double") return element<double>(tensor, index);
    if (tensor.dtype == "float") return element<float>(tensor, index);
    const auto bits = element<std::uint16_t>(tensor, index);
    return tensor.dtype == "float16" ? half(bits) : brain(bits);
}

/// Expected output: equal bits, a largest distance from `value` (`bound`), or several acceptable indices (`accept`).
struct Expected {
    Tensor value;
    std::optional<Tensor> bound, accept;
};

inline bool is_accepted(const Tensor &accept, const Tensor &actual, std::size_t position) {
    const std::int64_t choices = accept.shape.back(), index = element<std::int64_t>(actual, position);
    return 0 <= index && index < choices && accept.bytes[position * std::size_t(choices) + std::size_t(index)];
}

inline bool is_right(const Expected &expected, const Tensor &actual, std::size_t index, std::size_t size) {
    if (expected.accept) return is_accepted(*expected.accept, actual, index);
    if (!is_floating(actual))
        return !std::memcmp(&actual.bytes[index * size], &expected.value.bytes[index * size], size);
    const double got = number(actual, index), wanted = number(expected.value, index);
    if (std::isnan(got) || std::isnan(wanted))
        return (std::isnan(got) && std::isnan(wanted)) ||
               (expected.bound && std::isinf(element<double>(*expected.bound, index)));
    if (!expected.bound) return got == wanted && std::signbit(got) == std::signbit(wanted);
    const double bound = element<double>(*expected.bound, index);
    return got == wanted || std::isinf(bound) || std::abs(got - wanted) <= bound;
}

inline std::string in_brackets(const Shape &shape) {
    std::ostringstream text;
    for (std::size_t i = 0; i < shape.size(); ++i) text << (i ? ", " : "") << shape[i];
    return "[" + text.str() + "]";
}

/// The first violation: wrong type, shape, size or elements; no value if the output passes.
inline std::optional<std::string> violation(const Expected &expected, const Tensor &actual) {
    const Tensor &wanted = expected.value;
    if (actual.dtype != wanted.dtype) return "has type " + actual.dtype + " instead of " + wanted.dtype;
    if (actual.shape != wanted.shape)
        return "has shape " + in_brackets(actual.shape) + " instead of " + in_brackets(wanted.shape);
    const std::size_t size = element_type([&](const ElementType &type) { return wanted.dtype == type.name; }).size;
    if (actual.bytes.size() != wanted.bytes.size()) return "has data of another size than its shape";
    const std::size_t elements = wanted.bytes.size() / size;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < elements; ++i) wrong += !is_right(expected, actual, i, size);
    if (!wrong) return std::nullopt;
    return "has " + std::to_string(wrong) + " wrong of " + std::to_string(elements) + " elements";
}
