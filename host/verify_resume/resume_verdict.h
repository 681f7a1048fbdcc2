// What `host verify-resume` has found, in words and as JSON.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "host/command_line.h"
#include "host/verify_resume/compare_runs.h"
#include "host/verify_resume/kill_at.h"
#include "host/verify_resume/shortened_run.h"

namespace tenon::host {

// One of the processes (or groups of them) that were started.
struct VerifiedRun {
  std::filesystem::path folder;
  std::optional<int64_t> resumed_step;  // of the checkpoint that it went on from; none: it began
  std::optional<KillAt> killed;         // none: it ended by itself
  int64_t last_step;                    // of its last line of the history
};

struct ResumeVerdict {
  ShortenedRun run;
  int64_t processes;
  std::vector<VerifiedRun> runs = {};  // in the order in which they ended
  bool ended_early = false;            // by itself, before it was to be killed
  RunComparison comparison = {};       // of the run without interruption with the resumed one
  RunComparison repeated = {};         // of it with another one without interruption; empty where nothing differed
  std::filesystem::path whole = {};    // the runs' folders, where they differ
  std::filesystem::path resumed = {};
};

// Whether two runs without interruption already differ in more than what callbacks measure.
bool is_unsteady(const ResumeVerdict& verdict);

// Whether the runs have the same bits, but for what is left out.
bool is_same(const ResumeVerdict& verdict);

// The step of the checkpoint that a run says it was resumed from. Throws Error(internal) where it was not.
int64_t read_resumed_step(const std::filesystem::path& run);

// "cpu", "cuda:0".
std::string read_device(const std::filesystem::path& run);

// The differences that count; those that two runs without interruption have as well do not, if they are callbacks'.
std::vector<RunDifference> find_counting(const ResumeVerdict& verdict);
// What was left out of them: callbacks' figures, which may be times.
std::vector<RunDifference> find_left_out(const ResumeVerdict& verdict);

// Lines for the terminal.
std::string describe_plan(const ResumeVerdict& verdict, const std::string& run_file);
std::string describe_run(const VerifiedRun& run, int64_t processes);
std::string describe_verdict(const ResumeVerdict& verdict, const std::vector<std::string>& reasons);

std::string print_json(const ResumeVerdict& verdict, const std::vector<std::string>& reasons, const CommandLine& line);

}  // namespace tenon::host
