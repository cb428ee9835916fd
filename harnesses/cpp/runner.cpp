// Runs and judges a corpus without Python: the folder that onnx-conformance-corpus-X.Y.Z.tar.gz unpacks to.
//
// Usage: runner CORPUS
//
// It prints a line for each case, its verdict and name, and what is wrong; then how many there are of each verdict.
// The status is 0 where something passed and nothing was wrong, 1 where it was not so, 2 where there is no corpus.
// What a runner of your own replaces is argmax.hpp, which stands where your runtime does.

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
        const auto beside = [&](const std::string &what) -> std::optional<Tensor> {
            const fs::path file = data_set / (what + "_" + std::to_string(i) + ".pb");
            return fs::exists(file) ? std::optional(read_tensor(file)) : std::nullopt;
        };
        outputs.push_back({*beside("output"), beside("bound"), beside("accept")});
    }
    return outputs;
}

/// The answer to a data set. Whatever number of inputs a corpus's model has, this runtime's has one.
Tensor answer_to(const Model &model, const fs::path &data_set) {
    if (fs::exists(data_set / "input_1.pb")) throw std::runtime_error("ArgMax has 1 input");
    return run(model, read_tensor(data_set / "input_0.pb"));
}

Verdict judged(const fs::path &folder, bool is_invalid) {
    const auto data_set = [&](int i) { return folder / ("test_data_set_" + std::to_string(i)); };
    if (!is_invalid && !fs::exists(data_set(0))) return {"skipped", "only graph optimizers are asked"};
    try {
        const Model model(folder / "model.onnx");
        if (is_invalid) {
            answer_to(model, data_set(0));
            return {"fail", "computed an output from a model that is not valid"};
        }
        for (int i = 0; fs::exists(data_set(i)); ++i) {
            const std::vector<Expected> outputs = expected_outputs(data_set(i));
            const Tensor answer = answer_to(model, data_set(i));
            if (outputs.size() != 1) return {"fail", "gave 1 output instead of " + std::to_string(outputs.size())};
            if (const auto wrong = complaint(outputs[0], answer))
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
            const Verdict verdict = judged(path, kind == "invalid");
            ++counts[verdict.word];
            std::cout << verdict.word << ' ' << path.filename().string();
            std::cout << (verdict.message.empty() ? "" : ": ") << verdict.message << '\n';
        }
    }
    for (const auto &[word, number] : counts) std::cout << word << ": " << number << '\n';
    return counts["pass"] && !counts["fail"] && !counts["error"] ? 0 : 1;
}
