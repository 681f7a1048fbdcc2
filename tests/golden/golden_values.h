// The reference values of a golden run: every metric of its history and every tensor of its weights, to 12 digits.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tenon::golden {

// Reads the values from a run folder: {"history": [{"event", "epoch", "step", "metrics": {...}}], "weights": {NAME:
// {"dtype", "shape", "values"}}}. Tensors that are not float64 have "sha256" instead of the values. Numbers are printed
// with enough digits to restore the same bits. Throws std::runtime_error with the name of a missing or invalid file.
nlohmann::ordered_json read_values(const std::filesystem::path& run_folder);

// Returns the differences, one per line, or an empty list. A later host may log additional events, and additional
// metrics in an event.
std::vector<std::string> find_differences(const nlohmann::ordered_json& kept, const nlohmann::ordered_json& found);

}  // namespace tenon::golden
