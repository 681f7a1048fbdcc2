// run.json: versions, command line, device, machine, plugins and outcome of a run. Times as it has them.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/artifacts/checkpoint/metric_values.h"
#include "framework/artifacts/run_folder/git_state.h"
#include "framework/support/compute/compute_device.h"

namespace tenon::artifacts {

// The machine of a run. If the system does not report a value, text is empty and a number is 0.
struct Machine {
  std::string hostname;
  std::string cpu;       // "AMD EPYC 7763 64-Core Processor"
  int64_t cores;         // number of logical cores that are online
  int64_t memory_bytes;  // physical memory
  std::string kernel;    // "Linux 6.1.0-18-amd64 x86_64"
  std::string os;        // "Debian GNU/Linux 12 (bookworm)"
};
Machine read_machine();

// The processor and the threads, on which rounding on the CPU depends.
struct Processor {
  std::string cpu;
  int64_t threads;  // of LibTorch's operators

  bool operator==(const Processor&) const = default;
};
// Reads it from a run.json. None if the file is missing, invalid or of an earlier version.
std::optional<Processor> read_processor(const std::filesystem::path& file);

// Returns the peak memory of this process so far, in bytes. 0 if the system does not report it.
int64_t read_peak_memory();

struct PluginRecord {
  std::string id;
  std::string version;
  std::filesystem::path file;
  std::string sha256;
};

// Descriptions of the datasets, see data::describe_data(), by name: "train", "validation".
using DataRecord = std::map<std::string, std::map<std::string, std::string>>;

// The metrics of the test data, and the weights that have them.
struct TestRecord {
  std::string monitor;  // the metric by which these weights are the best; empty: they are the last ones
  int64_t epoch;        // of the weights, as is the step
  int64_t step;
  NamedMetrics metrics;
};

enum class RunStatus { running, finished, stopped, failed };
const char* to_string(RunStatus status);  // "running", ...

struct RunRecord {
  std::string tenon_version;
  std::string compiler;          // "gcc 12.2.0"
  std::string libtorch_version;  // set by the caller, as are device and plugins
  support::ComputeDevice device;
  int64_t threads = 0;  // of LibTorch's operators; set by the caller
  std::vector<std::string> command_line;
  std::filesystem::path working_directory;
  std::filesystem::path git_directory;  // a folder in the repository of `git`; not printed
  std::optional<GitState> git;          // none: no repository
  Machine machine;
  std::vector<PluginRecord> plugins;
  DataRecord data;  // set by the caller
  std::chrono::system_clock::time_point start;
  std::filesystem::path resumed_from;         // checkpoint of a resumed run; empty: a new run
  std::string model_summary;                  // text for display; set by the caller, as are the next two
  std::string monitor;                        // monitored metric of the best checkpoints; empty: none
  std::map<std::string, int32_t> directions;  // by host metric: 1 if higher is better, -1 if lower, 0 if neither

  // Outcome. While the run is running, `reason` and `end` are empty.
  RunStatus status = RunStatus::running;
  std::string reason;  // "": no reason
  std::optional<int> exit_code;
  bool is_complete = false;                // it finished, or a callback that monitors a metric stopped it
  std::optional<double> first_loss;        // loss of the first batch; none for a resumed run
  std::optional<double> zero_output_loss;  // loss of the first batch with zero outputs
  std::optional<int64_t> host_waits;       // number of synchronisations with the device
  std::optional<int64_t> graph_replays;    // number of batches that ran as a CUDA graph
  std::string memory_format;               // memory format of the weights: "channels_last"; empty: unknown so far
  std::vector<std::pair<std::string, double>> stages;  // seconds of the training thread, by stage
  std::optional<int64_t> peak_bytes;                   // peak memory of this process
  std::optional<TestRecord> test;                      // none: the run has no test data, or did not evaluate them
  std::optional<std::chrono::system_clock::time_point> end;
};

// Creates the record at the start of a run. Sets all fields except those that the comments above assign to the caller,
// and those of read_git().
RunRecord make_run_record(std::vector<std::string> command_line, std::chrono::system_clock::time_point start);

// Sets `git` and `git_directory`. `directory`: of the run file. If it is in no git repository, `git` is that of the
// working directory. Runs git, which takes tens of milliseconds in a large repository.
void read_git(RunRecord& record, const std::filesystem::path& directory);

// Reads the status in a run.json. None if the file is missing or invalid.
std::optional<RunStatus> read_run_status(const std::filesystem::path& file);

// Reads the reason for the end of a run in a run.json. "" if there is none, or the file is missing or invalid.
std::string read_run_reason(const std::filesystem::path& file);

// Whether a run.json says that the run needs no resumption: it finished, or a callback that monitors a metric, such as
// early_stopping, ended it. A signal or a limit of time leaves work to do.
bool has_ended_as_planned(const std::filesystem::path& file);

// The metric that selects the best checkpoint of a run.
struct MonitoredMetric {
  std::string name;
  bool is_larger_better;
};

// Reads the monitored metric in a run.json. None if there is none, or the file is missing or invalid.
std::optional<MonitoredMetric> read_monitored_metric(const std::filesystem::path& file);

// Whether the process of a run has ended without recording it: run.json has the status `running`, but no process has
// locked the folder. A run crashes, is killed, or loses its machine.
bool has_crashed(const std::filesystem::path& run);

// Prints the origin of a checkpoint, without time and machine: `tenon`, `libtorch`, `git`, `plugins` and `data`, as in
// run.json.
std::string format_origin(const RunRecord& record);
// Reads the SHA-256 of each plugin, by plugin id, from a file of format_origin() or format_run_record(). Empty for any
// other file.
std::map<std::string, std::string> read_plugin_digests(const std::filesystem::path& file);
// Reads the build of LibTorch from such a file.
std::string read_libtorch_build(const std::filesystem::path& file);
// Reads the descriptions of the datasets from such a file. Empty for any other file.
DataRecord read_data_record(const std::filesystem::path& file);

// Prints JSON with a fixed order of keys. Unknown values are null.
std::string format_run_record(const RunRecord& record);

// Writes the file durably and replaces an earlier one. Throws Error(system) with the path and the reason.
void write_run_record(const std::filesystem::path& file, const RunRecord& record);

std::string format_time_for_names(std::chrono::system_clock::time_point moment);  // 2026-11-21T11-30-05
std::string format_iso_8601(std::chrono::system_clock::time_point moment);        // 2026-11-21T11:30:05+01:00
// Parses what format_iso_8601() prints, which has whole seconds. None for any other text.
std::optional<std::chrono::sys_seconds> parse_iso_8601(const std::string& text);

}  // namespace tenon::artifacts
