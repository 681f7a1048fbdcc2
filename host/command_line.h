// The parsed command line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tenon::host {

struct CommandLine {
  enum class Action {
    train,
    check,
    data,
    list_plugins,
    describe,
    note,
    validate,
    pack,
    evaluate,
    predict,
    overfit,
    find_learning_rate,
    profile,
    compare,
    verify_resume,
    show_checkpoint,
    verify_checkpoint,
    diff_checkpoints,
    export_weights,
    list_runs,
    report,
    schema,
    completion,
    manual,
    help,
    prefix,
    version
  } action = Action::train;
  enum class Format { text, markdown, json };
  std::filesystem::path config;
  std::vector<std::string> overrides;  // --set, in order
  std::vector<std::filesystem::path> plugin_directories;
  std::string component;  // describe: the component; validate: check only this component, "model.mlp"
  bool load = false;      // list_plugins and describe: load the plugins instead of reading their notes
  bool ports = false;     // describe
  bool is_brief = false;  // validate
  // note and validate: the plugin file. data: the page for the samples, or empty. checkpoint commands: the inspected
  // path. list_runs: the folder with the runs.
  std::filesystem::path file;
  std::filesystem::path other_file;  // diff_checkpoints: the second checkpoint
  std::string objcopy = "objcopy";   // note
  // data, list_plugins, describe, validate, verify_resume, list_runs and the checkpoint commands: the output format.
  Format format = Format::text;
  // data, pack, evaluate and predict: "train", "validation", "validation/<name>". evaluate: empty selects all
  // validation data.
  std::string dataset = "train";
  double seconds = 0;                // data: how long to time the loader; 0: no timing
  double step_ms = 0;                // data: how long the consumer sleeps for each batch
  int64_t samples = 0;               // data: samples on the page; overfit: training samples; at least 1
  int64_t steps = 0;                 // overfit: maximum; find_learning_rate: exact number; verify_resume: approximate
  double threshold = 0;              // overfit: threshold of the loss
  int64_t batch_size = 0;            // profile; 0: the batch size of the run file
  int64_t repeats = 0;               // profile; at least 1
  int64_t depth = 0;                 // profile: parts of a module's name; 0: as many as fit
  double first_rate = 0;             // find_learning_rate
  double last_rate = 0;              // find_learning_rate
  bool is_quiet = false;             // train: no standard output
  bool is_verbose = false;           // train: log.txt is also written to standard error
  Format log_format = Format::text;  // train: text or json
  bool is_dry_run = false;           // train: one batch of each dataset; nothing is kept
  int64_t first_traced_step = 0;     // train: counted from 1; 0: no trace
  int64_t last_traced_step = 0;
  std::string resume;                          // train: argument of find_checkpoint(); empty: a new run
  std::vector<std::filesystem::path> configs;  // compare; at least one
  std::vector<std::string> varied;             // compare: "train.precision=fp32,bf16"
  int64_t seeds = 0;                           // compare: runs of each variant; at least 1
  int64_t restarts = 0;                        // train: maximum number of restarts after a lost process
  int64_t processes = 0;  // train and verify_resume: --processes, which is also added to the overrides; 0: not given
  std::vector<std::string> params;    // validate: "model.mlp={ hidden = [64] }"
  std::string check;                  // validate
  uint64_t seed = 0;                  // validate; verify_resume: seed of the kills
  int64_t kills = 0;                  // verify_resume: kills of one run; at least 1
  double timeout_s = 0;               // validate: time limit for each call of the plugin
  std::filesystem::path output;       // pack: folder of the shards; compare: folder of the runs, or empty; predict,
                                      // export and report: the file
  std::string dtype;                  // export: "fp32", "fp16", "bf16"; empty: the dtypes of the model
  uint64_t shard_bytes = 0;           // pack; 0: no limit
  int64_t shard_samples = 0;          // pack; 0: no limit
  bool shuffle = false;               // pack
  std::string checkpoint = "latest";  // evaluate, predict and export: "latest", "best", a folder or a weights file
  std::optional<std::vector<std::string>> outputs;  // predict; unset: all
  std::vector<std::string> fields;                  // predict
  std::vector<std::string> apply;                   // predict: "argmax", "logits=argmax"
  std::vector<std::string> arguments;               // the whole command line with the program name
  std::vector<std::string> helped;                  // help: words of a command, or any other words
  std::string shell;                                // completion: "bash"
  std::string sort;                                 // list_runs: a metric; empty: newest first
  std::vector<std::filesystem::path> runs;          // report; at least one
  bool png = false;                                 // report: the curves are also written as PNG
};

// Throws Error(configuration) with the value found and the value expected.
CommandLine parse_command_line(int argc, const char* const* argv);

}  // namespace tenon::host
