// The run file as it was read: the values of its keys, and where they are. All keys are known and have the right type
// and range, except the parameters of components, which only their schemas can check.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "framework/config/plan/run_plan.h"
#include "framework/config/toml/diagnostics.h"
#include "framework/config/toml/toml_tree.h"

namespace tenon::config {

template <class T>
struct Setting {
  std::optional<T> value;
  SourceLocation place;  // location of the value, or of its table if unset

  T value_or(T otherwise) const { return value.value_or(std::move(otherwise)); }
};

struct FoundKey {
  bool is_set;
  SourceLocation place;  // location of the value, or of its table if unset
};

// `use` and the parameters of the selected component, optimizer, schedule or batch transform.
struct ComponentConfig {
  std::string path;      // "model", "data.train", "loss.0": as in --set
  SourceLocation place;  // location of its table
  Setting<std::string> use;
  Node::Table params;
  std::map<std::string, Setting<std::string>> inputs;
};

struct MetricConfig : ComponentConfig {
  Setting<std::vector<std::string>> on;
};

// [[data.train.change]]
struct DatasetChangeConfig {
  std::string path;      // "data.train.change.0"
  SourceLocation place;  // location of its table
  Setting<int64_t> at_epoch;
  Node::Table params;
};

struct RunConfig {
  std::filesystem::path file;                             // as the user named it
  std::filesystem::path folder;                           // absolute folder of the file
  std::map<std::string, std::filesystem::path> folders;   // absolute, of it and the files that it extends, by source
  std::filesystem::path working_folder;                   // absolute; base of run.output_dir
  std::vector<std::filesystem::path> plugin_directories;  // from --plugin-dir, absolute

  // The keys that are declared in run_file_keys.h, with their defaults, before resolve_run_plan(). Its lists have an
  // element for each of the components below.
  RunPlan declared;
  std::map<std::string, FoundKey> found;  // these keys by path: "train.epochs", "loss.0.weight"

  Setting<std::vector<std::string>> plugin_paths;
  std::map<std::string, Setting<std::string>> plugin_digests;  // by file name; unset if the value is wrong
  ComponentConfig model;
  std::map<std::string, Setting<std::string>> weights_rename;            // by pattern of the file's names
  SourceLocation folds_place;                                            // location of [data.folds]
  std::map<std::string, Setting<std::vector<std::string>>> class_names;  // by field
  std::vector<ComponentConfig> batch_transforms;
  ComponentConfig train_data;
  std::vector<DatasetChangeConfig> train_changes;
  std::vector<ComponentConfig> validation_data;  // in the order of the file
  std::vector<ComponentConfig> test_data;        // in the order of the file
  std::vector<ComponentConfig> losses;
  std::vector<MetricConfig> metrics;
  std::vector<ComponentConfig> callbacks;
  ComponentConfig optimizer;  // all other keys of the table are parameters
  ComponentConfig schedule;   // as well; `use` may be unset

  // REQUIRES: the key is declared in run_file_keys.h, in a table that was read.
  const FoundKey& key(const std::string& path) const { return found.at(path); }
  const SourceLocation& place_of(const std::string& path) const { return key(path).place; }

  // The base of relative paths at this location: the folder of the file that has it, or for --set that of the run file.
  const std::filesystem::path& folder_of(const SourceLocation& place) const {
    const auto found_folder = folders.find(place.source);
    return found_folder == folders.end() ? folder : found_folder->second;
  }
};

}  // namespace tenon::config
