// run.json: what ran, with what, on what, and how it ended.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "framework/artifacts/figures.h"
#include "framework/artifacts/git_state.h"
#include "framework/artifacts/machine.h"
#include "framework/support/compute_device.h"

namespace tenon::artifacts {

struct PluginRecord {
  std::string id;
  std::string version;
  std::filesystem::path file;
  std::string sha256;
};

enum class RunStatus { running, finished, stopped, failed };
const char* to_string(RunStatus status);  // "running", ...

struct RunRecord {
  std::string tenon_version;
  std::string compiler;          // "gcc 12.2.0"
  std::string libtorch_version;  // filled by the caller, as are device and plugins
  support::ComputeDevice device;
  std::vector<std::string> command_line;
  std::filesystem::path working_directory;
  std::optional<GitState> git;  // of the working directory; none: not a repository
  Machine machine;
  std::vector<PluginRecord> plugins;
  std::chrono::system_clock::time_point start;
  std::filesystem::path resumed_from;         // the checkpoint; empty: the run began here
  std::string model_summary;                  // lines for people; filled by the caller, as are the next two
  std::string monitor;                        // the figure by which checkpoints are good; empty: none
  std::map<std::string, int32_t> directions;  // of the figures that the host makes: 1 higher is better, -1 lower, 0

  // The end. Until then: running, no reason, no end.
  RunStatus status = RunStatus::running;
  std::string reason;  // "": nothing to say
  std::optional<int> exit_code;
  std::optional<double> first_loss;       // of the first batch; none of a run that goes on
  std::optional<double> uninformed_loss;  // that it would have if all outputs were zero
  std::optional<int64_t> host_waits;      // times the training waited for the device
  std::string memory_format;              // that the weights had: "channels_last"; empty: not known yet
  Figures stages;                         // seconds of the training thread, by what it did
  std::optional<int64_t> peak_bytes;      // of memory, of this process
  std::optional<std::chrono::system_clock::time_point> end;
};

// What can be known when a run starts: fills in everything but what the comments above leave to the caller.
RunRecord make_run_record(std::vector<std::string> command_line, std::chrono::system_clock::time_point start);

// The status in a run.json; none where the file is missing or is none.
std::optional<RunStatus> read_run_status(const std::filesystem::path& file);

// What ran, without when and where, for a checkpoint: `tenon`, `libtorch`, `git` and `plugins`, as run.json has them.
std::string print_origin(const RunRecord& record);
// The SHA-256 of each plugin by its id, as print_origin() or print_run_record() wrote it; empty if the file is neither.
std::map<std::string, std::string> read_plugin_digests(const std::filesystem::path& file);

// As JSON, the keys always in the same order; null for what is not known.
std::string print_run_record(const RunRecord& record);

// Writes it durably, in place of the earlier one. Throws Error(internal) with the path and the reason.
void write_run_record(const std::filesystem::path& file, const RunRecord& record);

}  // namespace tenon::artifacts
