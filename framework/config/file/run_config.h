// The run file without defaults: unset keys stay unset, and each value has its location. All keys are known and have
// the right type and range, except the parameters of components, which only their schemas can check.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "framework/config/toml/source_location.h"
#include "framework/config/toml/toml_tree.h"
#include "framework/config/values/device_choice.h"
#include "framework/config/values/period.h"
#include "framework/config/values/subset.h"

namespace tenon::config {

template <class T>
struct Setting {
  std::optional<T> value;
  SourceLocation place;  // location of the value, or of its table if unset

  T value_or(T otherwise) const { return value.value_or(std::move(otherwise)); }
};

// `use` and the parameters of the selected component, optimizer, schedule or batch transform.
struct ComponentConfig {
  std::string path;      // "model", "data.train", "loss.0": as in --set
  SourceLocation place;  // location of its table
  Setting<std::string> use;
  Node::Table params;
  std::map<std::string, Setting<std::string>> inputs;
};

struct RunSettings {
  Setting<std::string> name;
  Setting<std::string> output_dir;
  Setting<int64_t> seed;
  Setting<std::string> deterministic;  // "true", "false" or "warn"
  Setting<int64_t> threads;
  Setting<bool> flush_denormal;
  Setting<DeviceChoice> device;
};

struct ModelConfig : ComponentConfig {
  Setting<std::string> weights;
  Setting<std::string> weights_match;  // "strict" or "partial"
  Setting<std::vector<std::string>> weights_exclude;
  std::map<std::string, Setting<std::string>> weights_rename;  // by pattern of the file's names
};

struct NamedDatasetConfig : ComponentConfig {
  std::string name;  // "train"; "validation", or "validation/<name>"; "test", or "test/<name>"
  Setting<Subset> subset;
};

// [[data.train.change]]
struct DatasetChangeConfig {
  std::string path;      // "data.train.change.0"
  SourceLocation place;  // location of its table
  Setting<int64_t> at_epoch;
  Node::Table params;
};

struct FoldsConfig {
  SourceLocation place;  // location of its table
  Setting<int64_t> count;
  Setting<int64_t> fold;
  Setting<std::string> stratify;
  Setting<std::string> group;
};

struct DataConfig {
  Setting<int64_t> batch_size;
  Setting<int64_t> validation_batch_size;
  Setting<int64_t> workers;  // "auto" is resolved to a number
  Setting<int64_t> prefetch;
  Setting<bool> shuffle;
  Setting<bool> drop_last;
  Setting<std::string> sampler;
  Setting<int64_t> repeated_augmentation;
  Setting<std::string> on_error;
  Setting<int64_t> limit_batches;
  Setting<int64_t> validation_limit_batches;
  Setting<int64_t> test_limit_batches;
  Setting<int64_t> subset_seed;
  std::optional<FoldsConfig> folds;
  std::map<std::string, Setting<std::vector<std::string>>> class_names;  // by field
  std::vector<ComponentConfig> batch_transforms;
  NamedDatasetConfig train;
  std::vector<DatasetChangeConfig> train_changes;
  std::vector<NamedDatasetConfig> validation;  // in the order of the file
  std::vector<NamedDatasetConfig> test;        // in the order of the file
};

struct LossConfig : ComponentConfig {
  Setting<std::string> name;
  Setting<double> weight;
};

struct MetricConfig : ComponentConfig {
  Setting<std::string> name;
  Setting<std::vector<std::string>> on;
};

struct AverageConfig {
  Setting<std::string> use;
  Setting<double> decay;
  Setting<bool> warm_up;
  Setting<Period> start;
  Setting<Period> every;
};

struct CallbackConfig : ComponentConfig {
  Setting<Period> every;
  Setting<Period> after;
  Setting<bool> once;
  Setting<int64_t> priority;
};

struct TrainConfig {
  Setting<int64_t> epochs;
  Setting<int64_t> steps;
  Setting<int64_t> accumulate;
  Setting<std::string> precision;
  Setting<double> clip_norm;
  Setting<double> clip_value;
  Setting<std::string> non_finite;
  Setting<int64_t> max_skipped_steps;
  Setting<std::string> memory_format;
  Setting<std::string> cudnn_benchmark;  // "true", "false" or "auto"
  Setting<std::string> cuda_graph;
  Setting<bool> cudnn_attention;
  Setting<bool> activation_checkpointing;
  std::optional<AverageConfig> average;
};

struct ParameterGroupConfig {
  std::string path;      // "optimizer.group.0"
  SourceLocation place;  // location of its table
  Setting<std::vector<std::string>> match;
  Setting<double> lr_scale;
  Setting<double> weight_decay;
  Setting<bool> frozen;
  Setting<int64_t> frozen_epochs;
  Setting<bool> eval_batch_norm;
};

// All other keys of the table are parameters.
struct OptimizerConfig : ComponentConfig {
  std::vector<ParameterGroupConfig> groups;
};

struct ValidationConfig {
  Setting<Period> every;
  Setting<bool> at_start;
};

struct CheckpointConfig {
  Setting<Period> every;
  Setting<int64_t> keep;
  Setting<bool> asynchronous;
  Setting<std::string> monitor;
  Setting<std::string> mode;
  Setting<int64_t> keep_best;
  Setting<bool> load_best_at_end;
  Setting<bool> exclude_frozen_parameters;
};

struct LogConfig {
  Setting<Period> every;
  Setting<bool> tensorboard;
  Setting<Period> histograms;
  Setting<int64_t> samples;
};

struct DistributedConfig {
  Setting<int64_t> processes;
  Setting<std::string> backend;
  Setting<std::string> interface;
  Setting<double> timeout_s;
  Setting<double> bucket_mib;
  Setting<double> first_bucket_mib;
  Setting<std::string> compression;
  Setting<std::string> shard;
  Setting<bool> find_unused_parameters;
  Setting<bool> static_graph;
  Setting<bool> synchronize_batch_norm;
};

struct RunConfig {
  std::filesystem::path file;                             // as the user named it
  std::filesystem::path folder;                           // absolute folder of the file
  std::map<std::string, std::filesystem::path> folders;   // absolute, of it and the files that it extends, by source
  std::filesystem::path working_folder;                   // absolute; base of run.output_dir
  std::vector<std::filesystem::path> plugin_directories;  // from --plugin-dir, absolute
  RunSettings run;
  Setting<std::vector<std::string>> plugin_paths;
  std::map<std::string, Setting<std::string>> plugin_digests;  // by file name; unset if the value is wrong
  ModelConfig model;
  DataConfig data;
  std::vector<LossConfig> losses;
  std::vector<MetricConfig> metrics;
  std::vector<CallbackConfig> callbacks;
  TrainConfig train;
  OptimizerConfig optimizer;
  ComponentConfig schedule;  // all other keys of the table are parameters; `use` may be unset
  ValidationConfig validation;
  CheckpointConfig checkpoint;
  LogConfig log;
  DistributedConfig distributed;

  // The base of relative paths at this location: the folder of the file that has it, or for --set that of the run file.
  const std::filesystem::path& folder_of(const SourceLocation& place) const {
    const auto found = folders.find(place.source);
    return found == folders.end() ? folder : found->second;
  }
};

}  // namespace tenon::config
