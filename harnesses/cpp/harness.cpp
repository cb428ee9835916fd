// A harness without an ONNX runtime: it runs models of one ArgMax node, and answers `unsupported` for all others.
//
// Use it as a template: keep `main`, `execute` and base64, and replace argmax.hpp by your runtime.
// See docs/reference/protocol.md.

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "argmax.hpp"

using json = nlohmann::json;

// ---- Tensors as text: base64 with padding (RFC 4648) of little-endian elements in C order.

const std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string encode(const std::string &bytes) {
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
        std::uint32_t group = 0;
        for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < count ? std::uint8_t(bytes[i + k]) : 0);
        for (std::size_t k = 0; k < 4; ++k) text += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
    }
    return text;
}

std::string decode(std::string_view text) {
    if (text.size() % 4) throw std::runtime_error("the length of base64 text is not a multiple of 4");
    while (!text.empty() && text.back() == '=') text.remove_suffix(1);
    std::string bytes;
    std::uint32_t group = 0;
    int bits = 0;
    for (char digit : text) {
        const std::size_t value = kDigits.find(digit);
        if (value == std::string_view::npos) throw std::runtime_error("not base64");
        group = group << 6 | std::uint32_t(value);
        if ((bits += 6) >= 8) bytes += char(group >> (bits -= 8) & 255);
    }
    return bytes;
}

// ---- The protocol: one command, one answer.

json execute(const json &command, std::optional<Model> &model) {
    const std::string cmd = command.at("cmd");
    if (cmd == "start")
        return {{"version", 1}, {"name", "argmax-only"}, {"runtime_version", "1.0.0"},
                {"language", "C++"}, {"kind", "backend"}};
    if (cmd == "load") {
        model.reset();
        model.emplace(command.at("model").get<std::string>());
        return {{"loaded", true}};
    }
    if (cmd != "run") throw std::runtime_error("unknown command " + cmd);
    if (!model) throw std::runtime_error("no model is loaded");
    const json &inputs = command.at("inputs");
    if (inputs.size() != 1) throw std::runtime_error("ArgMax has 1 input, not " + std::to_string(inputs.size()));
    const json &given = inputs[0];
    const std::string bytes = decode(given.at("data").get<std::string>());
    const Tensor output = run(*model, {given.at("dtype"), given.at("shape"), bytes});
    return {{"outputs", {{{"dtype", output.dtype}, {"shape", output.shape}, {"data", encode(output.bytes)}}}}};
}

int main() {
    std::ios::sync_with_stdio(false);
    std::optional<Model> model;
    for (std::string line; std::getline(std::cin, line);) {
        const json command = json::parse(line, nullptr, false);
        if (!command.is_object() || !command.contains("cmd") || !command.contains("seq")) {
            std::cerr << "A line of the input is no command: " << line.substr(0, 200) << std::endl;
            return 2;
        }
        if (command.at("cmd") == "stop") return 0;
        json answer;
        try {
            answer = execute(command, model);
        } catch (const Unsupported &error) {
            answer = {{"unsupported", error.what()}};
        } catch (const std::exception &error) {
            answer = {{"error", error.what()}};
        }
        answer["seq"] = command.at("seq");
        std::cout << answer.dump(-1, ' ', true, json::error_handler_t::replace) << std::endl;  // and flush
    }
}
