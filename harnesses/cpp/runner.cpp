// Runs and judges a corpus without Python.
//
// Usage: runner CORPUS
//
// CORPUS is the folder that onnx-conformance-corpus-X.Y.Z.tar.gz unpacks to. The runner prints one line per case with
// its verdict, name and the reason of a failure, and then the number of cases per verdict.
// Exit status: 0 if a case passed and no case failed, 1 otherwise, 2 if the corpus does not exist.
// For your own runner, replace argmax.hpp by your runtime.

#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <string>

#include "judge.hpp"

namespace fs = std::filesystem;

struct Verdict {
    std::string word, message;
};

/// The outputs of a data set, in the graph's order.
std::vector<Expected> expected_outputs(const fs::path &data_set) {
    std::vector<Expected> outputs;
    for (int i = 0; fs::exists(data_set / ("output_" + std::to_string(i) + ".pb")); ++i) {
        const auto read = [&](const std::string &part) -> std::optional<Tensor> {
            const fs::path file = data_set / (part + "_" + std::to_string(i) + ".pb");
            return fs::exists(file) ? std::optional(read_tensor(file)) : std::nullopt;
        };
        outputs.push_back({*read("output"), read("bound"), read("accept")});
    }
    return outputs;
}

/// Run a model on a data set. This runtime supports only models with one input.
Tensor run_data_set(const Model &model, const fs::path &data_set) {
    if (fs::exists(data_set / "input_1.pb")) throw std::runtime_error("ArgMax has 1 input");
    return run(model, read_tensor(data_set / "input_0.pb"));
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
            const std::vector<Expected> outputs = expected_outputs(data_set(i));
            const Tensor actual = run_data_set(model, data_set(i));
            if (outputs.size() != 1) return {"fail", "returned 1 output instead of " + std::to_string(outputs.size())};
            if (const auto wrong = violation(outputs[0], actual))
                return {"fail", "output 0 of data set " + std::to_string(i) + " " + *wrong};
        }
        return {"pass", ""};
    } catch (const Unsupported &error) {
        return {"unsupported", error.what()};
    } catch (const std::exception &error) {
        return {is_invalid ? "pass" : "error", error.what()};
    }
}

int main(int count, char **arguments) {
    if (count != 2 || !fs::exists(fs::path(arguments[1]) / "manifest.json")) {
        std::cerr << "Usage: runner CORPUS, a folder with a manifest.json\n";
        return 2;
    }
    std::map<std::string, int> counts;
    for (const std::string kind : {"node", "pass", "invalid"}) {
        const fs::path folder = fs::path(arguments[1]) / kind;
        if (!fs::exists(folder)) continue;
        std::set<fs::path> cases;
        for (const auto &entry : fs::directory_iterator(folder)) cases.insert(entry.path());
        for (const fs::path &path : cases) {
            const Verdict verdict = judge_case(path, kind == "invalid");
            ++counts[verdict.word];
            std::cout << verdict.word << ' ' << path.filename().string();
            std::cout << (verdict.message.empty() ? "" : ": ") << verdict.message << '\n';
        }
    }
    for (const auto &[word, number] : counts) std::cout << word << ": " << number << '\n';
    return counts["pass"] && !counts["fail"] && !counts["error"] ? 0 : 1;
}
