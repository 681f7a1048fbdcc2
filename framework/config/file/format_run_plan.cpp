#include "framework/config/file/format_run_plan.h"

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "framework/config/file/batch_transform_keys.h"
#include "framework/config/file/extended_file.h"
#include "framework/config/file/optimizer_keys.h"
#include "framework/config/file/run_file_keys.h"
#include "framework/config/file/schedule_keys.h"
#include "framework/formats/strings.h"

namespace tenon::config {
namespace {

// Writes tables and keys as text.
class PlanWriter {
 public:
  void table(const std::string& name) { text_ += "\n[" + name + "]\n"; }
  void list_table(const std::string& name) { text_ += "\n[[" + name + "]]\n"; }
  void key(const std::string& name, const Value& value) { text_ += name + " = " + print(value) + "\n"; }

  void list(const std::string& name, const std::vector<ScheduleLength>& lengths) {
    const auto print_length = [](const ScheduleLength& length) { return to_toml(to_value(length)); };
    text_ += name + " = [" + formats::join(lengths, ", ", print_length) + "]\n";
  }

  // Writes `params = { width = 32 }`. Writes nothing if there are no entries.
  template <class T>
  void inline_table(const std::string& name, const std::map<std::string, T>& entries) {
    const auto print_entry = [](const auto& entry) { return to_toml_key(entry.first) + " = " + print(entry.second); };
    if (!entries.empty()) text_ += name + " = { " + formats::join(entries, ", ", print_entry) + " }\n";
  }

  void component(const ComponentPlan& plan) {
    key("use", plan.use);
    inline_table("params", plan.params);
    inline_table("inputs", plan.inputs);
  }

  std::string take() { return std::move(text_); }

 private:
  // A plan that is read again must not replace variables a second time.
  static std::string print(const Value& value) { return escape_variables(to_toml(value)); }

  std::string text_ = "# The complete plan of a run, with all defaults written out. It can be run again unchanged.\n";
};

class WriteKeys : public Keys<WriteKeys> {
 public:
  explicit WriteKeys(PlanWriter& writer) : writer_(writer) {}

  template <class T>
  bool visit(const char* name, const T& value, const KeyRules& rules) {
    if (rules.is_written) write(name, value);
    return false;
  }

 private:
  void write(const char* name, const Value& value) { writer_.key(name, value); }
  void write(const char* name, const Period& value) { writer_.key(name, to_string(value)); }
  void write(const char* name, const Subset& value) { writer_.key(name, to_string(value)); }
  void write(const char* name, const DeviceChoice& value) { writer_.key(name, to_string(value)); }
  void write(const char* name, const ScheduleLength& value) { writer_.key(name, to_value(value)); }
  void write(const char* name, const std::vector<ScheduleLength>& value) { writer_.list(name, value); }
  template <size_t N>
  void write(const char* name, const std::array<double, N>& value) {
    writer_.key(name, std::vector<double>(value.begin(), value.end()));
  }
  void write(const char* name, const NamedChoice& value) {
    const std::string& text = value.names[value.index];
    writer_.key(name, text == "true" || text == "false" ? Value(text == "true") : Value(text));
  }

  PlanWriter& writer_;
};

// Writes the keys of a section.
template <class Section>
void write_keys(PlanWriter& writer, Section section) {
  WriteKeys keys(writer);
  declare(keys, section);
}

template <class Section>
void write_section(PlanWriter& writer, const char* table, const Section& section) {
  writer.table(table);
  write_keys(writer, section);
}

// Writes [optimizer] or [schedule].
template <class Plan>
void write_choice(PlanWriter& writer, const char* table, const Plan& plan) {
  writer.table(table);
  writer.key("use", use_of(plan));
  write_keys(writer, plan);
}

// Writes an element of [[table]]. `keys`: those in addition to the component's.
template <class Section>
void write_component(PlanWriter& writer, const char* table, const ComponentPlan& plan, const Section& keys) {
  writer.list_table(table);
  writer.component(plan);
  write_keys(writer, keys);
}

void write_run(PlanWriter& writer, const RunPlan& plan) {
  write_section(writer, "run", plan.run);
  std::vector<std::string> paths;
  for (const auto& path : plan.plugin_paths) paths.push_back(path.string());
  writer.table("plugins");
  writer.key("paths", paths);
  std::map<std::string, std::string> digests;
  for (const PluginPin& pin : plan.plugin_pins) digests.emplace(pin.file, pin.sha256);
  writer.inline_table("sha256", digests);
}

void write_model(PlanWriter& writer, const ModelSection& model) {
  writer.table("model");
  writer.component(model);
  write_keys(writer, model);
  if (!model.weights.empty()) writer.inline_table("weights_rename", model.weights_rename);
}

// The table of "validation/<name>" is [data.validation.<name>]; "test/<name>" as well.
std::string table_of(const NamedDataset& dataset) {
  const size_t slash = dataset.name.find('/');
  if (slash == dataset.name.npos) return "data." + dataset.name;
  return "data." + dataset.name.substr(0, slash) + "." + to_toml_key(dataset.name.substr(slash + 1));
}

void write_dataset(PlanWriter& writer, const NamedDataset& dataset) {
  writer.table(table_of(dataset));
  writer.component(dataset);
  write_keys(writer, dataset);
}

void write_data(PlanWriter& writer, const DataSection& data) {
  write_section(writer, "data", data);
  if (data.folds) write_section(writer, "data.folds", *data.folds);
  if (!data.class_names.empty()) writer.table("data.class_names");
  for (const auto& [field, names] : data.class_names) writer.key(to_toml_key(field), names);
  for (const BatchTransformPlan& transform : data.batch_transforms) {
    writer.list_table("data.batch_transform");
    writer.key("use", use_of(transform));
    std::visit([&](const auto& of_use) { write_keys(writer, of_use); }, transform.what);
  }
  write_dataset(writer, data.train);
  for (const ScheduledDataset& later : data.scheduled_train) {
    writer.list_table("data.train.change");
    writer.key("at_epoch", later.at_epoch);
    writer.inline_table("params", later.changed);
  }
  for (const NamedDataset& dataset : data.validation) write_dataset(writer, dataset);
  for (const NamedDataset& dataset : data.test) write_dataset(writer, dataset);
}

void write_components(PlanWriter& writer, const RunPlan& plan) {
  for (const LossPlan& loss : plan.losses) write_component(writer, "loss", loss, loss);
  for (const MetricPlan& metric : plan.metrics) {
    write_component(writer, "metric", metric, metric);
    std::vector<std::string> on;
    if (metric.on_train) on.emplace_back("train");
    if (metric.on_validation)
      on.emplace_back("validation");
    else if (metric.on_test)
      on.emplace_back("test");
    writer.key("on", on);
  }
  for (const CallbackPlan& callback : plan.callbacks) write_component(writer, "callback", callback, callback.filter);
}

void write_training(PlanWriter& writer, const RunPlan& plan) {
  write_section(writer, "train", plan.train);
  if (plan.train.average) write_section(writer, "train.average", *plan.train.average);
  write_choice(writer, "optimizer", plan.optimizer);
  for (const ParameterGroupPlan& group : plan.optimizer.groups) {
    writer.list_table("optimizer.group");
    write_keys(writer, group);
  }
  write_choice(writer, "schedule", plan.schedule);
  write_section(writer, "validation", plan.validation);
  write_section(writer, "checkpoint", plan.checkpoint);
  write_section(writer, "log", plan.log);
  write_section(writer, "distributed", plan.distributed);
}

}  // namespace

std::string format_run_plan(const RunPlan& plan) {
  PlanWriter writer;
  write_run(writer, plan);
  write_model(writer, plan.model);
  write_data(writer, plan.data);
  write_components(writer, plan);
  write_training(writer, plan);
  return writer.take();
}

}  // namespace tenon::config
