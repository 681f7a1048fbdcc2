#include "framework/config/print_run_plan.h"

#include <string_view>

#include "framework/config/plan_writer.h"
#include "framework/support/check.h"

namespace tenon::config {
namespace {

void write_run(PlanWriter& writer, const RunPlan& plan) {
  writer.table("run");
  writer.key("name", plan.run.name);
  writer.key("output_dir", plan.run.output_dir.string());
  writer.key("seed", static_cast<int64_t>(plan.run.seed));
  writer.key("deterministic", plan.run.deterministic);
  writer.key("threads", plan.run.threads);
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
  if (!model.weights.empty()) writer.key("weights", model.weights.string());
}

// "validation/<name>" stands in [data.validation.<name>].
std::string table_of(const NamedDataset& dataset) {
  const size_t slash = dataset.name.find('/');
  if (slash == dataset.name.npos) return "data." + dataset.name;
  return "data." + dataset.name.substr(0, slash) + "." + to_toml_key(dataset.name.substr(slash + 1));
}

void write_dataset(PlanWriter& writer, const NamedDataset& dataset) {
  writer.table(table_of(dataset));
  writer.component(dataset);
  writer.key("subset", to_string(dataset.subset));
}

const char* to_string(SamplerKind sampler) {
  switch (sampler) {
    case SamplerKind::uniform: return "uniform";
    case SamplerKind::weighted: return "weighted";
    case SamplerKind::length_bucketed: return "length_bucketed";
  }
  TENON_CHECK(false, "sampler " << static_cast<int>(sampler));
}

struct BatchTransformWriter {
  PlanWriter& writer;

  void operator()(const NormalizeBatch& normalize) {
    writer.key("use", "normalize");
    writer.key("field", normalize.field);
    writer.key("mean", normalize.mean);
    writer.key("std", normalize.std);
  }
  void operator()(const MixBatch& mix) {
    writer.key("use", "mix");
    writer.key("image", mix.image);
    writer.key("label", mix.label);
    writer.key("target", mix.target);
    writer.key("classes", mix.classes);
    writer.key("methods", mix.methods);
    writer.key("alpha", mix.alpha);
    writer.key("p", mix.p);
  }
};

void write_data(PlanWriter& writer, const DataSection& data) {
  writer.table("data");
  writer.key("batch_size", data.batch_size);
  writer.key("validation_batch_size", data.validation_batch_size);
  writer.key("workers", data.workers);
  writer.key("prefetch", data.prefetch);
  writer.key("shuffle", data.shuffle);
  writer.key("sampler", to_string(data.sampler));
  writer.key("on_error", data.on_error == OnError::skip ? "skip" : "stop");
  writer.key("limit_batches", data.limit_batches);
  writer.key("validation_limit_batches", data.validation_limit_batches);
  writer.key("subset_seed", static_cast<int64_t>(data.subset_seed));
  for (const BatchTransformPlan& transform : data.batch_transforms) {
    writer.list_table("data.batch_transform");
    std::visit(BatchTransformWriter{writer}, transform.what);
  }
  write_dataset(writer, data.train);
  for (const NamedDataset& dataset : data.validation) write_dataset(writer, dataset);
}

void write_components(PlanWriter& writer, const RunPlan& plan) {
  for (const LossPlan& loss : plan.losses) {
    writer.list_table("loss");
    writer.component(loss);
    writer.key("name", loss.name);
    writer.key("weight", loss.weight);
  }
  for (const MetricPlan& metric : plan.metrics) {
    writer.list_table("metric");
    writer.component(metric);
    writer.key("name", metric.name);
  }
  for (const ComponentPlan& callback : plan.callbacks) {
    writer.list_table("callback");
    writer.component(callback);
  }
}

void write_training(PlanWriter& writer, const RunPlan& plan) {
  writer.table("train");
  if (plan.train.epochs > 0) writer.key("epochs", plan.train.epochs);
  if (plan.train.steps > 0) writer.key("steps", plan.train.steps);
  write_optimizer(writer, plan.optimizer);
  write_schedule(writer, plan.schedule);
  writer.table("validation");
  writer.key("every", to_string(plan.validation.every));
  writer.key("at_start", plan.validation.at_start);
  writer.table("checkpoint");
  writer.key("every", to_string(plan.checkpoint.every));
  writer.key("keep", plan.checkpoint.keep);
  writer.table("log");
  writer.key("every", to_string(plan.log.every));
}

}  // namespace

std::string print_run_plan(const RunPlan& plan) {
  PlanWriter writer;
  write_run(writer, plan);
  write_model(writer, plan.model);
  write_data(writer, plan.data);
  write_components(writer, plan);
  write_training(writer, plan);
  return writer.take();
}

}  // namespace tenon::config
