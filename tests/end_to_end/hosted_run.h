// Runs the built `host` and reads its output.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tenon::end_to_end {

struct Outcome {
  int exit_code;  // 128 + n after signal n, as a shell counts
  std::string output;
  std::string errors;
};

// Runs `host` with these arguments in the folder of the test case. `prefix`: shell words before it (`timeout -s INT
// 2`).
Outcome run_host(const std::vector<std::string>& arguments, const std::string& prefix = "");

// Runs another program of the build's bin in the same way.
Outcome run_program(const std::string& name, const std::vector<std::string>& arguments, const std::string& prefix = "");

// Fails the test with the output unless the exit code is 0. Returns the outcome.
Outcome require_success(Outcome outcome);

// Checks the exit code, and that the errors contain each of the texts.
void check_errors(const Outcome& outcome, int exit_code, const std::vector<std::string>& texts);

// The arguments of `first`, then those of `more`.
std::vector<std::string> joined(std::vector<std::string> first, const std::vector<std::string>& more);

// The parts of the text between separators. A separator at the end ends the last part.
std::vector<std::string> parts_of(const std::string& text, char separator);

// Creates an empty folder of this name in the folder of the test case.
std::filesystem::path make_empty_folder(const std::string& name);

// Writes a file, creates its parent folders, and returns its path.
std::filesystem::path write_file(const std::filesystem::path& path, const std::string& text);
std::string read_file(const std::filesystem::path& path);

// Returns the only run folder under output_dir/name. Fails the test if there is not exactly one.
std::filesystem::path find_run_folder(const std::filesystem::path& output_dir, const std::string& name);

// Returns history.jsonl without its times.
std::string read_history_without_times(const std::filesystem::path& run_folder);

// Returns the last value of a metric in history.jsonl. Fails the test if there is none.
double read_last_metric(const std::filesystem::path& run_folder, const std::string& name);

}  // namespace tenon::end_to_end
