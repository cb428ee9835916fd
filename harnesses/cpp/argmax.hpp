// A minimal runtime for models of one ArgMax node; it decodes the protocol buffer itself.
//
// It stands in for your runtime, so that the harness and the runner show everything else that is needed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using Shape = std::vector<std::int64_t>;

/// The runtime does not support the model; the verdict is `unsupported` instead of `error`.
struct Unsupported : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// ---- The model: the fields of a protocol buffer, and one ArgMax node.

/// A field of a message: a number, or bytes that hold a text or a nested message.
struct Field {
    std::int64_t integer;
    std::string_view bytes;
};
using Message = std::multimap<std::uint64_t, Field>;

inline std::string_view take(std::string_view &rest, std::uint64_t size) {
    if (size > rest.size()) throw std::runtime_error("not a model: a field is cut short");
    const std::string_view taken = rest.substr(0, size);
    rest.remove_prefix(size);
    return taken;
}

inline std::uint64_t varint(std::string_view &rest) {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        const auto byte = std::uint8_t(take(rest, 1)[0]);
        value |= std::uint64_t(byte & 127) << shift;
        if (byte < 128) return value;
    }
    throw std::runtime_error("not a model: a number is too long");
}

inline Message fields(std::string_view rest) {
    Message found;
    while (!rest.empty()) {
        const std::uint64_t key = varint(rest);
        switch (key & 7) {
            case 0: found.insert({key >> 3, {std::int64_t(varint(rest)), {}}}); break;
            case 1: take(rest, 8); break;
            case 2: found.insert({key >> 3, {0, take(rest, varint(rest))}}); break;
            case 5: take(rest, 4); break;
            default: throw std::runtime_error("not a model: a field has no known wire type");
        }
    }
    return found;
}

/// The only field with this number; the default value (zero or empty) if the field is missing.
inline Field only(const Message &message, std::uint64_t number) {
    const auto found = message.find(number);
    return found == message.end() ? Field{0, {}} : found->second;
}

inline std::string content_of(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

struct Model {
    std::int64_t element_type, axis = 0, keepdims = 1, select_last_index = 0;

    explicit Model(const std::string &path) {
        const std::string content = content_of(path);
        const Message model = fields(content);
        if (!model.count(7)) throw std::runtime_error("not a model: it has no graph");
        std::int64_t opset = 0;
        for (auto [each, end] = model.equal_range(8); each != end; ++each) {
            const Message imported = fields(each->second.bytes);
            if (is_main(only(imported, 1).bytes)) opset = only(imported, 2).integer;
        }
        const Message graph = fields(only(model, 7).bytes);
        if (graph.count(1) != 1 || graph.count(5) || graph.count(15) || model.count(25))
            throw Unsupported("only graphs of one node, without initializers and functions, are implemented");
        read_node(fields(only(graph, 1).bytes), opset);
        const Message node = fields(only(graph, 1).bytes), input = fields(only(graph, 11).bytes);
        if (graph.count(11) != 1 || graph.count(12) != 1 || node.count(1) != 1 || node.count(2) != 1 ||
            only(node, 1).bytes != only(input, 1).bytes ||
            only(node, 2).bytes != only(fields(only(graph, 12).bytes), 1).bytes)
            throw std::runtime_error("the graph's one input and output are not ArgMax's");
        element_type = only(fields(only(fields(only(input, 2).bytes), 1).bytes), 1).integer;
    }

private:
    static bool is_main(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

    void read_node(const Message &node, std::int64_t opset) {
        const std::string type{only(node, 4).bytes}, domain{only(node, 7).bytes};
        if (type != "ArgMax" || !is_main(domain))
            throw Unsupported("operator " + domain + (domain.empty() ? "" : ".") + type + " is not implemented");
        if (opset < 11) throw Unsupported("ArgMax below opset 11 is not implemented");
        for (auto [each, end] = node.equal_range(5); each != end; ++each) {
            const Message attribute = fields(each->second.bytes);
            const std::string name{only(attribute, 1).bytes};
            const std::int64_t value = only(attribute, 3).integer;
            if (only(attribute, 20).integer != 2) throw std::runtime_error(name + " is not an integer");  // AttributeType
            if (name == "axis") axis = value;
            else if (name == "keepdims") keepdims = value;
            else if (name == "select_last_index" && opset >= 12) select_last_index = value;
            else throw std::runtime_error("ArgMax of opset " + std::to_string(opset) + " has no attribute " + name);
        }
    }
};

// ---- The operator.

struct Tensor {
    std::string dtype;
    Shape shape;
    std::string bytes;
};

/// The product of two sizes; an error if one is negative, or if the product is no number of the type.
inline std::int64_t product(std::int64_t a, std::int64_t b) {
    if (a < 0 || b < 0 || (b > 0 && a > std::numeric_limits<std::int64_t>::max() / b))
        throw std::runtime_error("a tensor cannot have this shape");
    return a * b;
}

template <class T>
Tensor argmax(const Model &model, const Tensor &input) {
    const auto rank = std::int64_t(input.shape.size());
    const std::int64_t axis = model.axis < 0 ? model.axis + rank : model.axis;
    if (axis < 0 || axis >= rank) throw std::runtime_error("axis " + std::to_string(model.axis) + " is out of range");
    std::int64_t outer = 1, inner = 1;
    const std::int64_t size = input.shape[axis];
    for (std::int64_t i = 0; i < rank; ++i) {
        std::int64_t &part = i < axis ? outer : inner;
        part = product(part, i == axis ? 1 : input.shape[i]);
    }
    const std::int64_t count = product(product(outer, size), inner);
    if (std::int64_t(input.bytes.size()) != product(count, sizeof(T)))
        throw std::runtime_error("the size of the data does not match the shape");
    if (size == 0 && outer > 0 && inner > 0) throw std::runtime_error("ArgMax along an axis of size 0");
    std::vector<T> elements(count);
    if (count > 0) std::memcpy(elements.data(), input.bytes.data(), input.bytes.size());

    std::vector<std::int64_t> indices;
    for (std::int64_t o = 0; inner > 0 && o < outer; ++o)
        for (std::int64_t n = 0; n < inner; ++n) {
            const auto at = [&](std::int64_t i) { return elements[(o * size + i) * inner + n]; };
            std::int64_t best = 0;
            for (std::int64_t i = 1; i < size; ++i)
                if (at(i) > at(best) || (model.select_last_index && at(i) == at(best))) best = i;
            indices.push_back(best);
        }
    Tensor output{"int64", input.shape, std::string(indices.size() * sizeof(std::int64_t), '\0')};
    if (!indices.empty()) std::memcpy(output.bytes.data(), indices.data(), output.bytes.size());
    if (model.keepdims) output.shape[axis] = 1;
    else output.shape.erase(output.shape.begin() + axis);
    return output;
}

inline Tensor run(const Model &model, const Tensor &input) {
    struct Type {
        std::int64_t number;  // in TensorProto.DataType
        Tensor (*argmax)(const Model &, const Tensor &);
    };
    static const std::map<std::string, Type> types = {
        {"float", {1, argmax<float>}},         {"uint8", {2, argmax<std::uint8_t>}},
        {"int8", {3, argmax<std::int8_t>}},    {"uint16", {4, argmax<std::uint16_t>}},
        {"int16", {5, argmax<std::int16_t>}},  {"int32", {6, argmax<std::int32_t>}},
        {"int64", {7, argmax<std::int64_t>}},  {"double", {11, argmax<double>}},
        {"uint32", {12, argmax<std::uint32_t>}}, {"uint64", {13, argmax<std::uint64_t>}},
    };
    const auto type = types.find(input.dtype);
    if (type == types.end()) throw Unsupported("ArgMax of " + input.dtype + " is not implemented");
    if (type->second.number != model.element_type) throw std::runtime_error("the input's type differs from the model's");
    return type->second.argmax(model, input);
}
