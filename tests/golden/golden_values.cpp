#include "tests/golden/golden_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <set>
#include <stdexcept>

#include <tenon/abi.h>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/support/digests/sha256.h"

namespace tenon::golden {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

ordered_json read_history(const fs::path& file) {
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error(file.string() + ": cannot be opened");
  ordered_json history = ordered_json::array();
  for (std::string text; std::getline(stream, text);) {
    const ordered_json line = ordered_json::parse(text);
    ordered_json metrics = ordered_json::object();
    for (const auto& [key, value] : line.items())
      if (key != "event" && key != "epoch" && key != "step" && !key.ends_with("_s")) metrics[key] = value;
    history.push_back({{"event", line.at("event")},
                       {"epoch", line.at("epoch")},
                       {"step", line.at("step")},
                       {"metrics", std::move(metrics)}});
  }
  return history;
}

ordered_json read_weights(const fs::path& file) {
  const artifacts::SafetensorsFile opened(file);
  ordered_json weights = ordered_json::object();
  for (const artifacts::TensorView& tensor : opened.tensors()) {
    const std::string_view bytes(reinterpret_cast<const char*>(tensor.data), tensor.bytes);
    ordered_json& weight = weights[tensor.name];
    weight = {{"dtype", artifacts::find_stored_type(tensor.dtype)->name}, {"shape", tensor.shape}};
    if (tensor.dtype == TENON_FLOAT64) {
      std::vector<double> values(tensor.bytes / sizeof(double));
      std::memcpy(values.data(), tensor.data, tensor.bytes);
      weight["values"] = values;
    } else {
      weight["sha256"] = support::sha256(bytes);
    }
  }
  return weights;
}

// NaN and infinity, which JSON does not support, are stored as strings. The mathematical functions in LibTorch's
// libraries round differently on different CPUs despite all settings, and later steps depend on the results.
bool is_same(const ordered_json& kept, const ordered_json& found) {
  constexpr double kRounding = 1e-12;
  if (kept.is_object() || kept.is_array()) {
    if (kept.type() != found.type() || kept.size() != found.size()) return false;
    for (auto one = kept.begin(), other = found.begin(); one != kept.end(); ++one, ++other)
      if ((kept.is_object() && one.key() != other.key()) || !is_same(*one, *other)) return false;
    return true;
  }
  if (!kept.is_number_float() || !found.is_number_float()) return kept == found;
  const double expected = kept.get<double>(), given = found.get<double>();
  return std::abs(given - expected) <= kRounding * std::max(1.0, std::abs(expected));
}

std::string describe(const ordered_json& line) {
  return line.at("event").get<std::string>() + " of epoch " + line.at("epoch").dump() + ", step " +
         line.at("step").dump();
}

// Returns the lines with an event that occurs in `kept`.
std::vector<const ordered_json*> select_known(const ordered_json& lines, const ordered_json& kept) {
  std::set<std::string> known;
  for (const ordered_json& line : kept) known.insert(line.at("event").get<std::string>());
  std::vector<const ordered_json*> selected;
  for (const ordered_json& line : lines)
    if (known.contains(line.at("event").get<std::string>())) selected.push_back(&line);
  return selected;
}

void compare_line(const ordered_json& kept, const ordered_json& found, std::vector<std::string>& differences) {
  for (const auto& [name, value] : kept.at("metrics").items()) {
    const auto metric = found.at("metrics").find(name);
    const bool is_there = metric != found.at("metrics").end();
    if (!is_there || !is_same(value, *metric))
      differences.push_back(describe(kept) + ": " + name + " is " + (is_there ? metric->dump() : "missing") +
                            "; expected " + value.dump());
  }
}

void compare_history(const ordered_json& kept, const ordered_json& found, std::vector<std::string>& differences) {
  const std::vector<const ordered_json*> lines = select_known(found, kept);
  if (lines.size() != kept.size())
    differences.push_back("the history has " + std::to_string(lines.size()) + " lines; expected " +
                          std::to_string(kept.size()));
  for (size_t i = 0; i < kept.size() && i < lines.size(); ++i) {
    if (describe(kept[i]) != describe(*lines[i])) {
      differences.push_back("line " + std::to_string(i + 1) + " of the history is " + describe(*lines[i]) +
                            "; expected " + describe(kept[i]));
      return;
    }
    compare_line(kept[i], *lines[i], differences);
  }
}

void compare_weights(const ordered_json& kept, const ordered_json& found, std::vector<std::string>& differences) {
  for (const auto& [name, value] : kept.items())
    if (!found.contains(name) || !is_same(value, found.at(name)))
      differences.push_back("weight " + name + " is " + (found.contains(name) ? found.at(name).dump() : "missing") +
                            "; expected " + value.dump());
  for (const auto& [name, value] : found.items())
    if (!kept.contains(name)) differences.push_back("the weights contain " + name + ", which the reference lacks");
}

}  // namespace

ordered_json read_values(const fs::path& run_folder) {
  return {{"history", read_history(run_folder / "history.jsonl")},
          {"weights", read_weights(run_folder / "checkpoints/latest/model.safetensors")}};
}

std::vector<std::string> find_differences(const ordered_json& kept, const ordered_json& found) {
  std::vector<std::string> differences;
  compare_history(kept.at("history"), found.at("history"), differences);
  compare_weights(kept.at("weights"), found.at("weights"), differences);
  return differences;
}

}  // namespace tenon::golden
