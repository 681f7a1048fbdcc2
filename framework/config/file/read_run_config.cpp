#include "framework/config/file/read_run_config.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "framework/config/file/extended_file.h"
#include "framework/config/file/overrides.h"
#include "framework/config/file/run_file_keys.h"
#include "framework/config/file/table_reader.h"
#include "framework/config/file/usable_resources.h"
#include "framework/config/toml/diagnostics.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/text/printable.h"

namespace tenon::config {
namespace {

class ReadKeys : public Keys<ReadKeys> {
 public:
  // Both must outlive this object. `found`: receives where the keys are, by path.
  ReadKeys(TableReader& table, std::map<std::string, FoundKey>& found) : table_(table), found_(found) {}

  void on_resume(ResumePolicy policy) { table_.on_resume(policy); }

  bool visit(const char* name, bool& value, const KeyRules& rules) { return read(name, value, rules); }
  bool visit(const char* name, int64_t& value, const KeyRules& rules) {
    return rules.automatic
               ? take(name, value, rules,
                      [&](auto& setting) { return table_.read_or_auto(name, setting, rules.range, *rules.automatic); })
               : read(name, value, rules, rules.range);
  }
  bool visit(const char* name, double& value, const KeyRules& rules) { return read(name, value, rules, rules.range); }
  bool visit(const char* name, std::string& value, const KeyRules& rules) { return read(name, value, rules); }
  bool visit(const char* name, std::vector<std::string>& value, const KeyRules& rules) {
    return read(name, value, rules, rules.choices);
  }
  bool visit(const char* name, Period& value, const KeyRules& rules) {
    return read(name, value, rules, rules.fractions);
  }
  bool visit(const char* name, Subset& value, const KeyRules& rules) { return read(name, value, rules); }
  bool visit(const char* name, DeviceChoice& value, const KeyRules& rules) { return read(name, value, rules); }
  bool visit(const char* name, NamedChoice& value, const KeyRules& rules) {
    std::string text = value.names[value.index];
    const bool is_flag = std::ranges::count(value.names, "true") > 0;
    const auto is_word = [](const std::string& one) { return one != "true" && one != "false"; };
    const bool is_read = take(name, text, rules, [&](auto& setting) {
      return is_flag ? table_.read_flag_or(name, setting, *std::ranges::find_if(value.names, is_word))
                     : table_.read(name, setting, value.names);
    });
    value.index = static_cast<size_t>(std::ranges::find(value.names, text) - value.names.begin());
    return is_read;
  }

 private:
  template <class T, class... More>
  bool read(const char* name, T& value, const KeyRules& rules, const More&... more) {
    return take(name, value, rules, [&](auto& setting) { return table_.read(name, setting, more...); });
  }

  template <class T, class Read>
  bool take(const char* name, T& value, const KeyRules& rules, const Read& read_into) {
    Setting<T> setting;
    const KeyDeclaration key = read_into(setting);
    if (rules.on_resume) key.on_resume(*rules.on_resume);
    key.describe(rules.doc);
    const bool is_set = setting.value.has_value();
    found_[table_.path().empty() ? name : table_.path() + "." + name] = {is_set, setting.place};
    if (is_set) value = std::move(*setting.value);
    return is_set;
  }

  TableReader& table_;
  std::map<std::string, FoundKey>& found_;
};

// Reads the keys of a section that are declared in run_file_keys.h.
template <class Section, class... More>
void read_keys(TableReader& table, Section& section, RunConfig& config, const More&... more) {
  ReadKeys keys(table, config.found);
  declare(keys, section, more...);
}

template <class Section, class... More>
void read_section(TableReader table, Section& section, RunConfig& config, const More&... more) {
  read_keys(table, section, config, more...);
  table.reject_unknown_keys();
}

// Reads the keys that all components share.
void read_component(TableReader& table, ComponentConfig& component) {
  component.path = table.path();
  component.place = table.place();
  table.read("use", component.use).describe("Id of the component.");
  component.params = table.table("params").take_rest();
}

void read_inputs(TableReader& table, ComponentConfig& component) {
  TableReader inputs = table.table("inputs");
  for (const std::string& port : inputs.keys())
    inputs.read(port, component.inputs[port]).describe("Source of the input: \"data.FIELD\" or \"model.OUTPUT\".");
}

void read_plugins(TableReader table, RunConfig& config) {
  table.on_resume(ResumePolicy::ignored);
  table.read("paths", config.plugin_paths).describe("Folders with plugins.");
  TableReader digests = table.table("sha256");
  for (const std::string& file : digests.keys())
    digests.read_digest(file, config.plugin_digests[file]).describe("SHA-256 of the plugin file.");
  table.reject_unknown_keys();
}

void read_model(TableReader table, RunConfig& config) {
  table.on_resume(ResumePolicy::fixed);
  read_component(table, config.model);
  table.on_resume(ResumePolicy::reported);
  read_inputs(table, config.model);
  read_keys(table, config.declared.model, config);
  TableReader renames = table.table("weights_rename");
  for (const std::string& pattern : renames.keys())
    renames.read(pattern, config.weights_rename[pattern]).describe("Name in the model, with at most one *.");
  table.reject_unknown_keys();
}

// `alike`: the datasets that `like` may name.
void read_dataset(TableReader table, const std::string& name, const std::vector<std::string>& alike,
                  NamedDataset& dataset, ComponentConfig& component, RunConfig& config) {
  dataset.name = name;
  if (!alike.empty()) {
    Setting<std::string> applied;  // by apply_like()
    table.read("like", applied, alike).describe("The dataset with the parameters that this one has, too.");
  }
  read_component(table, component);
  read_section(std::move(table), dataset, config);
}

void read_training_data(TableReader table, RunConfig& config) {
  table.on_resume(ResumePolicy::fixed_within_epoch);
  for (TableReader& entry : table.tables("change")) {
    DatasetChangeConfig change{entry.path(), entry.place(), {}, {}};
    entry.read("at_epoch", change.at_epoch, kScheduledEpochs).describe("The first epoch with these parameters.");
    change.params = entry.table("params").take_rest();
    entry.reject_unknown_keys();
    config.train_changes.push_back(std::move(change));
  }
  read_dataset(std::move(table), kTrain, {}, config.declared.data.train, config.train_data, config);
}

// Reads a single dataset or a table of named datasets.
void read_datasets(TableReader table, const std::string& name, const std::vector<std::string>& alike,
                   std::vector<NamedDataset>& datasets, std::vector<ComponentConfig>& components, RunConfig& config) {
  const std::vector<std::string> keys = table.keys();
  const bool are_all_tables = std::ranges::all_of(keys, [&](const auto& key) { return table.has_table(key); });
  const auto add = [&](TableReader one, const std::string& of_one) {
    read_dataset(std::move(one), of_one, alike, datasets.emplace_back(), components.emplace_back(), config);
  };
  if (keys.empty() || !are_all_tables || table.has("use") || table.has("params")) return add(table, name);
  for (const std::string& key : keys) add(table.table(key), name + "/" + key);
}

// Reads [optimizer], [schedule] and [[data.batch_transform]]. The valid keys depend on `use`, so resolve_run_plan()
// checks them.
void read_choice(TableReader table, ComponentConfig& choice, ResumePolicy use_on_resume) {
  choice.path = table.path();
  choice.place = table.place();
  table.read("use", choice.use).on_resume(use_on_resume).describe("Its name.");
  choice.params = table.take_rest();
}

void read_optimizer(TableReader table, RunConfig& config) {
  for (TableReader& entry : table.tables("group")) {
    ParameterGroupPlan& group = config.declared.optimizer.groups.emplace_back();
    group.path = entry.path();
    read_section(entry, group, config);
    group.place = to_string(config.place_of(group.path + ".match"));
  }
  read_choice(std::move(table), config.optimizer, ResumePolicy::fixed);
}

// A run that resumes with other folds would validate on samples that it has trained on.
void read_folds(TableReader& data, RunConfig& config) {
  const bool has_folds = data.has("folds");
  TableReader table = data.table("folds");
  FoldsSection folds;
  folds.place = to_string(table.place());
  config.folds_place = table.place();
  read_section(std::move(table), folds, config);
  if (has_folds) config.declared.data.folds = std::move(folds);
}

void read_data(TableReader table, RunConfig& config) {
  // The processes of the run share the cores. One core is reserved for the training thread.
  const int64_t automatic =
      std::clamp<int64_t>(count_usable_cores() / config.declared.distributed.processes - 1, 1, 4096);
  DataSection& data = config.declared.data;
  read_keys(table, data, config, automatic);
  read_folds(table, config);
  // Datasets are compared with these names when they are opened, also in a run that resumes.
  TableReader class_names = table.table("class_names");
  class_names.on_resume(ResumePolicy::ignored);
  for (const std::string& field : class_names.keys())
    class_names.read(field, config.class_names[field]).describe("Names of the classes, in the order of their numbers.");
  for (TableReader& transform : table.tables("batch_transform"))
    read_choice(std::move(transform), config.batch_transforms.emplace_back(), ResumePolicy::reported);
  read_training_data(table.table(kTrain), config);
  const bool has_validation = table.has(kValidation), has_test = table.has(kTest);
  TableReader validation = table.table(kValidation), test = table.table(kTest);
  if (has_validation)
    read_datasets(std::move(validation), kValidation, {kTrain}, data.validation, config.validation_data, config);
  test.on_resume(ResumePolicy::ignored);  // they are read after training, which does not depend on them
  if (has_test) read_datasets(std::move(test), kTest, {kTrain, kValidation}, data.test, config.test_data, config);
  table.reject_unknown_keys();
}

void read_losses(TableReader& document, RunConfig& config) {
  for (TableReader& table : document.tables("loss")) {
    table.on_resume(ResumePolicy::fixed);
    ComponentConfig& loss = config.losses.emplace_back();
    read_component(table, loss);
    read_inputs(table, loss);
    read_section(table, config.declared.losses.emplace_back(), config);
  }
}

void read_metrics(TableReader& document, RunConfig& config) {
  for (TableReader& table : document.tables("metric")) {
    MetricConfig& metric = config.metrics.emplace_back();
    read_component(table, metric);
    read_inputs(table, metric);
    table.read("on", metric.on, {kTrain, kValidation, kTest})
        .on_resume(ResumePolicy::fixed_within_epoch)
        .describe("The data that the metric is computed on.");
    read_section(table, config.declared.metrics.emplace_back(), config);
  }
}

void read_callbacks(TableReader& document, RunConfig& config) {
  for (TableReader& table : document.tables("callback")) {
    table.on_resume(ResumePolicy::fixed);
    read_component(table, config.callbacks.emplace_back());
    read_section(table, config.declared.callbacks.emplace_back().filter, config);
  }
}

void read_train(TableReader table, RunConfig& config) {
  read_keys(table, config.declared.train, config);
  if (table.has("average")) read_section(table.table("average"), config.declared.train.average.emplace(), config);
  table.reject_unknown_keys();
}

void read_document(TableReader table, RunConfig& config) {
  Setting<std::string> applied;  // by read_extended_file()
  table.read("extends", applied).on_resume(ResumePolicy::ignored).describe("Another run file, which this one changes.");
  read_section(table.table("run"), config.declared.run, config);
  read_plugins(table.table("plugins"), config);
  read_model(table.table("model"), config);
  read_section(table.table("distributed"), config.declared.distributed, config);
  read_data(table.table("data"), config);
  read_losses(table, config);
  read_metrics(table, config);
  read_callbacks(table, config);
  read_train(table.table("train"), config);
  read_optimizer(table.table("optimizer"), config);
  // The rates of a schedule depend on the step alone, or on a state that all parameters accept.
  read_choice(table.table("schedule"), config.schedule, ResumePolicy::fixed);
  read_section(table.table("validation"), config.declared.validation, config);
  read_section(table.table("checkpoint"), config.declared.checkpoint, config);
  read_section(table.table("log"), config.declared.log, config);
  table.reject_unknown_keys();
}

// Returns "loss[].weight" for "loss[0].weight".
std::string without_indices(const std::string& key) {
  std::string text;
  bool is_index = false;
  for (const char letter : key) {
    if (letter == ']') is_index = false;
    if (!is_index) text += letter;
    if (letter == '[') is_index = true;
  }
  return text;
}

// Whether the entry declares the key itself, or all keys under the same table.
bool covers(const RequestedKey& entry, std::string_view key) {
  const std::string_view path = entry.path;
  if (path.ends_with(".*")) return key.starts_with(path.substr(0, path.size() - 1));
  return key == path || (key.starts_with(path) && key[path.size()] == '.');
}

// The plan of a run has the path, and is a run file.
void require_utf8(const std::filesystem::path& path) {
  if (!support::is_utf8(path.string()))
    throw support::Error(support::ErrorKind::configuration,
                         "{}: the path is not UTF-8; expected UTF-8, because the run's plan.toml has paths: rename the "
                         "file or folder",
                         path.string());
}

}  // namespace

RunConfig read_run_config(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                          const std::vector<std::filesystem::path>& plugin_directories) {
  ExtendedFile read = read_extended_file(file);
  Node& document = read.document;
  Diagnostics diagnostics;
  for (const std::string& text : overrides) apply_override(text, document, diagnostics);
  apply_like(document, diagnostics);
  RunConfig config;
  config.folders = std::move(read.folders);
  config.file = file;
  const std::filesystem::path absolute = support::make_absolute(file).lexically_normal();
  require_utf8(absolute);
  config.folder = absolute.parent_path();
  config.working_folder = support::find_working_folder(support::ErrorKind::configuration);
  require_utf8(config.working_folder);
  for (const auto& path : plugin_directories)
    require_utf8(config.plugin_directories.emplace_back(support::make_absolute(path).lexically_normal()));
  read_document(TableReader(document, "", diagnostics), config);
  diagnostics.throw_if_any();
  return config;
}

std::vector<RequestedKey> list_run_file_keys() {
  std::vector<RequestedKey> requested;
  Diagnostics diagnostics;
  RunConfig config;
  read_document(TableReader(requested, diagnostics), config);
  return requested;
}

ResumePolicy find_resume_policy(const std::string& key) {
  static const std::vector<RequestedKey> entries = list_run_file_keys();
  const std::string wanted = without_indices(key);
  // How long a callback waits. Its state, such as the best value so far, does not depend on it.
  if (wanted == "callback[].params.patience" || wanted == "callback[].params.min_delta") return ResumePolicy::reported;
  const RequestedKey* found = nullptr;
  for (const RequestedKey& entry : entries)
    if (entry.form != RequestedKey::Form::table && entry.form != RequestedKey::Form::tables && covers(entry, wanted) &&
        (!found || entry.path.size() > found->path.size()))
      found = &entry;
  return found ? found->on_resume : ResumePolicy::reported;
}

}  // namespace tenon::config
