// Runs and judges a corpus without Python.
//
// Usage: runner CORPUS [MIN_CASES]
//
// CORPUS is the folder that corpus-X.Y.Z.tar.zst unpacks to. The runner prints one line per case with
// its verdict, name and the reason of a failure, and then the number of cases per verdict.
// Exit status: 0 if a case passed and no case failed, 1 otherwise, 2 if the corpus does not exist, has other cases than
// its manifest lists, or has fewer than MIN_CASES.
// For your own runner, replace argmax.hpp by your runtime.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "argmax.hpp"

#define JUDGE_NO_MAIN
#include "../c/judge.c"

namespace fs = std::filesystem;

struct Verdict {
    std::string word, message;
};

/// Names of the runtime's element types, at their numbers in TensorProto.DataType.
const char *const kTypes[] = {"",       "float", "uint8",   "int8",   "uint16", "int16",  "int32", "int64",
                              "string", "bool",  "float16", "double", "uint32", "uint64"};

/// A tensor of the corpus. It owns the bytes of its file.
class File {
public:
    explicit File(const fs::path &path) : content_(content_of(path)) {
        const auto *bytes = reinterpret_cast<const unsigned char *>(content_.data());
        if (!judge_parse(&tensor, bytes, content_.size()))
            throw std::runtime_error(path.string() + " is not a tensor of the corpus");
    }
    ~File() { judge_free(&tensor); }
    File(const File &) = delete;
    File &operator=(const File &) = delete;

    judge_tensor tensor;

private:
    std::string content_;
};

/// The runtime's tensor, as the judge reads it.
judge_tensor view(const Tensor &tensor) {
    judge_tensor view{};
    for (std::uint64_t type = 1; type < std::size(kTypes); ++type)
        if (tensor.dtype == kTypes[type]) view.type = type;
    for (const std::int64_t dim : tensor.shape)
        if (!judge_add_dim(&view, std::uint64_t(dim))) throw Unsupported("a tensor has more than 32 dimensions");
    view.data = reinterpret_cast<const unsigned char *>(tensor.bytes.data());
    return view;
}

Tensor read_input(const fs::path &path) {
    const File file(path);
    const judge_tensor &read = file.tensor;
    if (read.type >= std::size(kTypes)) throw Unsupported("the input has a type that the runtime lacks");
    const char *data = reinterpret_cast<const char *>(read.data);
    return {kTypes[read.type], Shape(read.dims, read.dims + read.rank), {data, data + read.elements * read.width}};
}

/// Why an output of a data set is not acceptable; no value if it is.
std::optional<std::string> violation(const fs::path &data_set, const Tensor &output) {
    const File expected(data_set / "output_0.pb");
    std::optional<File> bound, accept;
    if (fs::exists(data_set / "bound_0.pb")) bound.emplace(data_set / "bound_0.pb");
    if (fs::exists(data_set / "accept_0.pb")) accept.emplace(data_set / "accept_0.pb");
    const judge_tensor *bounds = bound ? &bound->tensor : nullptr, *indices = accept ? &accept->tensor : nullptr;
    if (!judge_fits(&expected.tensor, bounds, indices)) throw std::runtime_error("the corpus is damaged");
    judge_tensor actual = view(output);
    if (!judge_has_type_and_shape(&actual, &expected.tensor) || !judge_measure(&actual) ||
        output.bytes.size() != actual.elements * actual.width)
        return "has another type, shape or size than expected";
    const std::size_t wrong = judge_count_wrong(&expected.tensor, bounds, indices, &actual);
    if (!wrong) return std::nullopt;
    return "has " + std::to_string(wrong) + " wrong of " + std::to_string(actual.elements) + " elements";
}

/// Run a model on a data set. This runtime supports only models with one input.
Tensor run_data_set(const Model &model, const fs::path &data_set) {
    if (fs::exists(data_set / "input_1.pb")) throw std::runtime_error("ArgMax has 1 input");
    return run(model, read_input(data_set / "input_0.pb"));
}

Verdict judge_case(const fs::path &folder, bool is_invalid) {
    const auto data_set = [&](int i) { return folder / ("test_data_set_" + std::to_string(i)); };
    if (!is_invalid && !fs::exists(data_set(0))) return {"skipped", "for graph optimizers only"};
    try {
        const Model model(folder / "model.onnx");
        if (is_invalid) {
            run_data_set(model, data_set(0));
            return {"fail", "computed an output of an invalid model"};
        }
        for (int i = 0; fs::exists(data_set(i)); ++i) {
            const Tensor actual = run_data_set(model, data_set(i));
            if (fs::exists(data_set(i) / "output_1.pb")) return {"fail", "returned 1 output instead of several"};
            if (const auto wrong = violation(data_set(i), actual))
                return {"fail", "output 0 of data set " + std::to_string(i) + " " + *wrong};
        }
        return {"pass", ""};
    } catch (const Unsupported &error) {
        return {"unsupported", error.what()};
    } catch (const std::exception &error) {
        return {is_invalid ? "pass" : "error", error.what()};
    }
}

/// Number of cases that the manifest of a corpus lists: lines such as `  "node/test_adam": "must",`.
unsigned long listed_cases(const fs::path &corpus) {
    std::ifstream manifest(corpus / "manifest.json");
    char kind[8], name[256], level[8];
    unsigned long cases = 0;
    for (std::string line; std::getline(manifest, line);)
        cases += std::sscanf(line.c_str(), " \"%7[a-z]/%255[A-Za-z0-9_]\": \"%7[a-z]\"", kind, name, level) == 3;
    return cases;
}

int main(int count, char **arguments) {
    if (count < 2 || count > 3 || !fs::exists(fs::path(arguments[1]) / "manifest.json")) {
        std::cerr << "Usage: runner CORPUS [MIN_CASES]; CORPUS is a folder with a manifest.json\n";
        return 2;
    }
    const unsigned long listed = listed_cases(arguments[1]);
    const unsigned long announced = std::max(listed, count > 2 ? std::strtoul(arguments[2], nullptr, 10) : 1);
    unsigned long found = 0;
    std::map<std::string, int> counts;
    for (const std::string kind : {"node", "pass", "invalid"}) {
        const fs::path folder = fs::path(arguments[1]) / kind;
        if (!fs::exists(folder)) continue;
        std::set<fs::path> cases;
        for (const auto &entry : fs::directory_iterator(folder)) cases.insert(entry.path());
        for (const fs::path &path : cases) {
            ++found;
            const Verdict verdict = judge_case(path, kind == "invalid");
            ++counts[verdict.word];
            std::cout << verdict.word << ' ' << path.filename().string();
            std::cout << (verdict.message.empty() ? "" : ": ") << verdict.message << '\n';
        }
    }
    for (const auto &[word, number] : counts) std::cout << word << ": " << number << '\n';
    if (found != listed || found < announced) {
        std::cerr << "The corpus is truncated: it has " << found << " of " << announced << " cases.\n";
        return 2;
    }
    return counts["pass"] && !counts["fail"] && !counts["error"] ? 0 : 1;
}
