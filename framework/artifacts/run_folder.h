// Where a run's files are: <output_dir>/<name>/<time>/.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "framework/config/run_plan.h"
#include "framework/support/file_descriptor.h"

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

// Makes a folder of its own for this run, named after the local time (2026-11-21T11-30-05; runs of the same second get
// -2, -3, ...), with checkpoints/ and plan.toml in it. Throws Error(configuration) if run.name is no folder's name or
// the folder cannot be written.
RunFolder make_run_folder(const config::RunPlan& plan, std::chrono::system_clock::time_point start);

// Writes plan.toml anew, for a run that goes on in its folder.
void write_plan(const RunFolder& folder, const config::RunPlan& plan);

// Holds the folder for this process until it is destroyed. Throws Error(checkpoint) if another process holds it.
support::FileDescriptor lock_run_folder(const std::filesystem::path& root);

// Whether a process holds it.
bool is_run_folder_held(const std::filesystem::path& root);

}  // namespace tenon::artifacts
