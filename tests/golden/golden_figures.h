// What a golden run is held to: every figure of its history and every tensor of its weights, to 12 digits.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tenon::golden {

// Of a run's folder: {"history": [{"event", "epoch", "step", "figures": {...}}], "weights": {NAME: {"dtype", "shape",
// "values"}}}, of tensors that are not float64 "sha256" in place of the values. Numbers are printed with as many digits
// as give the same bits when they are read. Throws std::runtime_error naming the file that is missing or wrong.
nlohmann::ordered_json read_figures(const std::filesystem::path& run_folder);

// What differs, a line each; empty where nothing does. A later host may log further events, and further figures in one.
std::vector<std::string> find_differences(const nlohmann::ordered_json& kept, const nlohmann::ordered_json& found);

}  // namespace tenon::golden
