// Run files for tests, written to the test's folder and read with the stub schemas.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "framework/config/run_plan.h"

namespace tenon::config {

// The shortest useful run file: digits, small_cnn, cross_entropy, accuracy, adamw, 10 epochs.
extern const char* const kShortRunFile;

// kShortRunFile with one piece of it replaced. REQUIRES: the piece is there.
std::string short_run_file_with(const std::string& piece, const std::string& replacement);

// <the test's folder>/digits.toml with this text.
std::filesystem::path write_run_file(const std::string& text);

RunPlan read_plan(const std::filesystem::path& file, const std::vector<std::string>& overrides = {});
RunPlan plan_of(const std::string& text, const std::vector<std::string>& overrides = {});

// The message of the error that the text leads to, with the file named digits.toml; "" if it is a plan.
std::string mistake_of(const std::string& text, const std::vector<std::string>& overrides = {});

}  // namespace tenon::config
