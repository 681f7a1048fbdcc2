// The result of `host verify-resume`, as text and as JSON.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "host/training/open_run.h"
#include "host/verify_resume/shortened_run.h"

namespace tenon::host {

struct RunDifference {
  std::string file;  // file of the run folder or its last checkpoint: "history.jsonl", "model.safetensors"; or "files"
  std::string
      name;  // tensor, number, metric, or path of a callback's file; empty: the difference concerns the whole file
  std::string text;   // the difference, as a sentence without subject
  bool is_callbacks;  // state, metric or file of a callback; no weight or metric of the host depends on it
};

struct RunComparison {
  std::vector<RunDifference> differences;  // sorted by file, then by position in the file
  // Sizes of the first run.
  int64_t step = 0;              // step of the last checkpoint
  int64_t model_tensors = 0;     // tensors in model.safetensors
  int64_t training_tensors = 0;  // tensors in training.safetensors: optimizer, generators, callback states
  int64_t numbers = 0;           // numbers in the manifest's state, without times
  int64_t lines = 0;             // lines of history.jsonl
  int64_t files = 0;             // files of callbacks
};

// Compares the history, the last checkpoint and the files of callbacks of two run folders bit by bit. Ignores times.
// Throws Error(checkpoint) if a run has no checkpoint or a file cannot be read.
RunComparison compare_runs(const std::filesystem::path& run, const std::filesystem::path& other);

// One of the started runs, with one process or several.
struct VerifiedRun {
  std::filesystem::path folder;
  std::optional<int64_t> resumed_step;  // step of the checkpoint that it resumed from; none: a new run
  std::optional<KillAt> killed;         // none: it ended by itself
  int64_t last_step;                    // step of the last line of its history
};

struct ResumeReport {
  ShortenedRun run;
  int64_t processes;
  std::vector<VerifiedRun> runs = {};  // in the order of their ends
  bool ended_early = false;            // a run ended by itself before the kill
  RunComparison comparison = {};       // uninterrupted run and resumed run
  RunComparison repeated = {};         // two uninterrupted runs; empty if `comparison` has no differences
  std::filesystem::path whole = {};    // folders of the runs, if they differ
  std::filesystem::path resumed = {};
};

// Returns whether the runs have the same bits, apart from the differences of find_left_out().
bool is_same(const ResumeReport& report);

// Reads the step of the checkpoint that a run was resumed from. Throws Error(internal) if it was not resumed.
int64_t read_resumed_step(const std::filesystem::path& run);

// Returns the relevant differences. Differences of callbacks that uninterrupted runs also have are not relevant.
std::vector<RunDifference> find_counting(const ResumeReport& report);
// Returns the ignored differences: metrics of callbacks, which may be times.
std::vector<RunDifference> find_left_out(const ResumeReport& report);

// Texts for the terminal.
std::string describe_plan(const ResumeReport& report, const std::string& run_file);
std::string describe_run(const VerifiedRun& run, int64_t processes);
std::string describe_report(const ResumeReport& report, const std::vector<std::string>& reasons);

std::string format_json(const ResumeReport& report, const std::vector<std::string>& reasons,
                        const std::filesystem::path& config, uint64_t seed);

// Returns likely reasons for the differences as sentences, the most likely first. Empty if the runs are identical.
std::vector<std::string> find_reasons(const ResumeReport& report, const OpenedRunFile& opened);

}  // namespace tenon::host
