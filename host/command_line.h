// What was typed, and nothing about training.
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
    version
  } action = Action::train;
  enum class Format { text, markdown, json };
  std::filesystem::path config;
  std::vector<std::string> overrides;  // of --set, in order
  std::vector<std::filesystem::path> plugin_directories;
  std::string component;  // of describe; of validate, whose checks: "model.mlp"
  bool load = false;      // of list_plugins and describe: look into the plugins, not at their notes
  bool ports = false;     // of describe
  // Of note and validate; of data, where the contact sheet goes, or empty; of the commands of checkpoint what to look
  // at; of list_runs where to look.
  std::filesystem::path file;
  std::filesystem::path other_file;  // of diff_checkpoints: what the first one is compared with
  std::string objcopy = "objcopy";   // of note
  // Of data, list_plugins, describe, validate, verify_resume, list_runs and the commands of checkpoint.
  Format format = Format::text;
  // Of data, pack, evaluate and predict: "train", "validation", "validation/<name>"; of evaluate empty for all
  // validation data.
  std::string dataset = "train";
  double seconds = 0;                // of data: how long the loader is timed; 0: not at all
  double step_ms = 0;                // of data: what the consumer does with a batch
  int64_t samples = 0;               // of data: on the contact sheet; of overfit: that are trained on; at least 1
  int64_t steps = 0;                 // of overfit: at most; of find_learning_rate: as many; of verify_resume: about
  double threshold = 0;              // of overfit: of the loss
  int64_t batch_size = 0;            // of profile; 0: the run file's
  int64_t repeats = 0;               // of profile, at least 1
  int64_t depth = 0;                 // of profile: parts of a module's name; 0: as many as there is room for
  double first_rate = 0;             // of find_learning_rate
  double last_rate = 0;              // of find_learning_rate
  bool is_quiet = false;             // of train: nothing on standard output
  bool is_verbose = false;           // of train: what log.txt has, on standard error too
  Format log_format = Format::text;  // of train: text or json
  bool is_dry_run = false;           // of train: one batch of everything, and nothing is kept
  int64_t first_traced_step = 0;     // of train, from 1; 0: none is
  int64_t last_traced_step = 0;
  std::string resume;                          // of train: as find_checkpoint(); empty: a new run
  std::vector<std::filesystem::path> configs;  // of compare, at least one
  std::vector<std::string> varied;             // of compare: "train.precision=fp32,bf16"
  int64_t seeds = 0;                           // of compare: runs of each variant, at least 1
  int64_t restarts = 0;                        // of train: after a process was lost, at most
  int64_t processes = 0;  // of train and verify_resume: --processes, which is among the overrides too; 0: not given
  std::vector<std::string> params;    // of validate: "model.mlp={ hidden = [64] }"
  std::string check;                  // of validate
  uint64_t seed = 0;                  // of validate; of verify_resume: of the kills
  int64_t kills = 0;                  // of verify_resume, in one run; at least 1
  double timeout_s = 0;               // of validate, of each check
  std::filesystem::path output;       // of pack: the folder of the shards; of compare: that of the runs, or empty; of
                                      // predict, export and report: the file
  std::string dtype;                  // of export: "fp32", "fp16", "bf16"; empty: as the model has it
  uint64_t shard_bytes = 0;           // of pack; 0: any
  int64_t shard_samples = 0;          // of pack; 0: any
  bool shuffle = false;               // of pack
  std::string checkpoint = "latest";  // of evaluate, predict and export: that, or a folder or file of weights
  std::optional<std::vector<std::string>> outputs;  // of predict; unset: all
  std::vector<std::string> fields;                  // of predict
  std::vector<std::string> apply;                   // of predict: "argmax", "logits=argmax"
  std::vector<std::string> arguments;               // all of them, with the program's name
  std::vector<std::string> helped;                  // of help: the words of a command, or something else
  std::string shell;                                // of completion: "bash"
  std::string sort;                                 // of list_runs: a figure; empty: the newest first
  std::vector<std::filesystem::path> runs;          // of report: at least one
  bool png = false;                                 // of report: the curves as PNG too
};

// Throws Error(configuration) saying what was found and what is expected.
CommandLine parse_command_line(int argc, const char* const* argv);

}  // namespace tenon::host
