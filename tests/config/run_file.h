// Run files for tests, written to the folder of the test and read with the stub schemas.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "framework/config/plan/run_plan.h"

namespace tenon::config {

// The shortest useful run file: digits, small_cnn, cross_entropy, accuracy, adamw, 10 epochs.
extern const char* const kShortRunFile;

// Returns kShortRunFile with one piece replaced. REQUIRES: the piece exists.
std::string short_run_file_with(const std::string& piece, const std::string& replacement);

// Writes <folder of the test>/digits.toml with this text.
std::filesystem::path write_run_file(const std::string& text);

RunPlan read_plan(const std::filesystem::path& file, const std::vector<std::string>& overrides = {});
RunPlan plan_of(const std::string& text, const std::vector<std::string>& overrides = {});

// Returns the error message for the text, with the file named digits.toml. "" if the text is valid.
std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {});

}  // namespace tenon::config
