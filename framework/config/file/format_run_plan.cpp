#include "framework/config/file/format_run_plan.h"

#include <string_view>

#include "framework/config/file/batch_transform_keys.h"
#include "framework/config/file/optimizer_keys.h"
#include "framework/config/file/plan_writer.h"
#include "framework/config/file/run_file_keys.h"
#include "framework/config/file/schedule_keys.h"
#include "framework/config/file/write_keys.h"

namespace tenon::config {
namespace {

void write_run(PlanWriter& writer, const RunPlan& plan) {
  writer.table("run");
  write_keys(writer, plan.run);
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
  writer.table("data");
  write_keys(writer, data);
  if (data.folds) {
    writer.table("data.folds");
    write_keys(writer, *data.folds);
  }
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
  for (const LossPlan& loss : plan.losses) {
    writer.list_table("loss");
    writer.component(loss);
    write_keys(writer, loss);
  }
  for (const MetricPlan& metric : plan.metrics) {
    writer.list_table("metric");
    writer.component(metric);
    write_keys(writer, metric);
    std::vector<std::string> on;
    if (metric.on_train) on.emplace_back("train");
    if (metric.on_validation)
      on.emplace_back("validation");
    else if (metric.on_test)
      on.emplace_back("test");
    writer.key("on", on);
  }
  for (const CallbackPlan& callback : plan.callbacks) {
    writer.list_table("callback");
    writer.component(callback);
    write_keys(writer, callback.filter);
  }
}

// Writes [optimizer] or [schedule].
template <class Plan>
void write_choice(PlanWriter& writer, const char* table, const Plan& plan) {
  writer.table(table);
  writer.key("use", use_of(plan));
  write_keys(writer, plan);
}

template <class Section>
void write_section(PlanWriter& writer, const char* table, const Section& section) {
  writer.table(table);
  write_keys(writer, section);
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
