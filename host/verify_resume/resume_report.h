// The result of `host verify-resume`, as text and as JSON.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "host/verify_resume/compare_runs.h"
#include "host/verify_resume/kill_observer.h"
#include "host/verify_resume/shortened_run.h"

namespace tenon::host {

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

// Returns whether two uninterrupted runs differ in more than metrics of callbacks.
bool is_unsteady(const ResumeReport& report);

// Returns whether the runs have the same bits, apart from the differences of find_left_out().
bool is_same(const ResumeReport& report);

// Reads the step of the checkpoint that a run was resumed from. Throws Error(internal) if it was not resumed.
int64_t read_resumed_step(const std::filesystem::path& run);

// Returns the device of a run: "cpu", "cuda:0".
std::string read_device(const std::filesystem::path& run);

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

}  // namespace tenon::host
