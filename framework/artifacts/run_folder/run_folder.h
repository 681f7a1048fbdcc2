// The run folder: <output_dir>/<name>/<time>/.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "framework/config/plan/run_plan.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/file_descriptor.h"

namespace tenon::artifacts {

struct RunFolder {
  std::filesystem::path root;

  std::filesystem::path plan_file() const { return root / "plan.toml"; }
  std::filesystem::path record_file() const { return root / "run.json"; }
  std::filesystem::path log_file() const { return root / "log.txt"; }
  std::filesystem::path history_jsonl() const { return root / "history.jsonl"; }
  std::filesystem::path history_csv() const { return root / "history.csv"; }
  std::filesystem::path samples() const { return root / "samples"; }
  std::filesystem::path plots() const { return root / "plots"; }
  std::filesystem::path report_file() const { return root / "report.html"; }
  std::filesystem::path checkpoints() const { return root / "checkpoints"; }
};

// Creates a new run folder with checkpoints/ and plan.toml. Its name is the local time (2026-11-21T11-30-05). Further
// runs of the same second get the suffix -2, -3, and so on. If the clock was ahead and an earlier run has a later time
// in its name, the new run gets that time with a suffix: names give the order of the runs. Removes the temporary files
// that killed runs of this run.name left more than an hour ago. Waits while another process creates a run of this name.
// `stop`: the number of a signal that ends the wait, or 0; null if none can arrive. Throws Error(configuration) if
// run.name is not a valid folder name or the folder cannot be written, and Error(kind_of_signal(*stop)) after a signal.
RunFolder make_run_folder(const config::RunPlan& plan, std::chrono::system_clock::time_point start,
                          const std::atomic<int>* stop = nullptr);

// Whether folder `a` has an earlier run than folder `b`. Both have the same run.name. Compares the times and the
// numbers in their names; folders without a time in the name are the earliest.
bool is_earlier_run(const std::filesystem::path& a, const std::filesystem::path& b);

// Returns the run folders in `output_dir`/`name`, newest first. Empty if there are none.
std::vector<std::filesystem::path> list_runs(const std::filesystem::path& output_dir, const std::string& name);

// Rewrites plan.toml, for a run that resumes in its folder.
void write_plan(const RunFolder& folder, const config::RunPlan& plan);

// Locks the folder for this process until the result is destroyed. Throws Error(checkpoint) if another process has
// locked it.
support::FileDescriptor lock_run_folder(const std::filesystem::path& root);

// Whether a process has locked the folder.
bool is_run_folder_held(const std::filesystem::path& root);

// Writes a file that other processes see complete or not at all. It survives a power cut only after sync_start().
// Throws an Error of the given kind, with the path and the reason of the system.
void write_unsynced(const std::filesystem::path& path, std::string_view text, support::ErrorKind kind);

// [any thread] Syncs the plan, the record and the folders of a run. Throws Error(system).
void sync_start(const RunFolder& folder);

}  // namespace tenon::artifacts
