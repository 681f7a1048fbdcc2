#include "framework/config/plan/print_run_plan.h"

#include <string_view>

#include "framework/config/plan/plan_writer.h"
#include "framework/support/check.h"

namespace tenon::config {
namespace {

void write_run(PlanWriter& writer, const RunPlan& plan) {
  writer.table("run");
  writer.key("name", plan.run.name);
  writer.key("output_dir", plan.run.output_dir.string());
  writer.key("seed", static_cast<int64_t>(plan.run.seed));
  if (plan.run.deterministic == Determinism::warn)
    writer.key("deterministic", "warn");
  else
    writer.key("deterministic", plan.run.deterministic == Determinism::on);
  writer.key("threads", plan.run.threads);
  writer.key("flush_denormal", plan.run.flush_denormal);
  writer.key("device", to_string(plan.run.device));
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
  if (model.weights.empty()) return;
  writer.key("weights", model.weights.string());
  writer.key("weights_match", model.weights_match == WeightsMatch::partial ? "partial" : "strict");
  if (!model.weights_exclude.empty()) writer.key("weights_exclude", model.weights_exclude);
  writer.inline_table("weights_rename", model.weights_rename);
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
  writer.key("drop_last", data.drop_last);
  writer.key("sampler", to_string(data.sampler));
  writer.key("repeated_augmentation", data.repeated_augmentation);
  writer.key("on_error", data.on_error == OnError::skip ? "skip" : "stop");
  writer.key("limit_batches", data.limit_batches);
  writer.key("validation_limit_batches", data.validation_limit_batches);
  if (!data.test.empty()) writer.key("test_limit_batches", data.test_limit_batches);
  writer.key("subset_seed", static_cast<int64_t>(data.subset_seed));
  if (data.folds) {
    writer.table("data.folds");
    writer.key("count", data.folds->count);
    writer.key("fold", data.folds->fold);
    writer.key("stratify", data.folds->stratify);
    writer.key("group", data.folds->group);
  }
  if (!data.class_names.empty()) writer.table("data.class_names");
  for (const auto& [field, names] : data.class_names) writer.key(to_toml_key(field), names);
  for (const BatchTransformPlan& transform : data.batch_transforms) {
    writer.list_table("data.batch_transform");
    std::visit(BatchTransformWriter{writer}, transform.what);
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
    writer.key("name", loss.name);
    writer.key("weight", loss.weight);
  }
  for (const MetricPlan& metric : plan.metrics) {
    writer.list_table("metric");
    writer.component(metric);
    writer.key("name", metric.name);
    std::vector<std::string> on;
    if (metric.on_train) on.emplace_back("train");
    if (metric.on_validation)
      on.emplace_back("validation");
    else if (metric.on_test)
      on.emplace_back("test");
    writer.key("on", on);
  }
  for (const CallbackPlan& callback : plan.callbacks) {
    const EventFilter& filter = callback.filter;
    writer.list_table("callback");
    writer.component(callback);
    if (filter.every.unit != Period::Unit::never) writer.key("every", to_string(filter.every));
    if (filter.after.unit != Period::Unit::never) writer.key("after", to_string(filter.after));
    writer.key("once", filter.once);
    if (filter.priority) writer.key("priority", static_cast<int64_t>(*filter.priority));
  }
}

void write_train(PlanWriter& writer, const TrainSection& train) {
  writer.table("train");
  if (train.epochs > 0) writer.key("epochs", train.epochs);
  if (train.steps > 0) writer.key("steps", train.steps);
  writer.key("accumulate", train.accumulate);
  writer.key("precision", to_string(train.precision));
  writer.key("clip_norm", train.clip_norm);
  writer.key("clip_value", train.clip_value);
  writer.key("non_finite", train.non_finite == NonFinite::skip ? "skip" : "stop");
  writer.key("max_skipped_steps", train.max_skipped_steps);
  writer.key("memory_format", to_string(train.memory_format));
  if (train.cudnn_benchmark == CudnnBenchmark::automatic)
    writer.key("cudnn_benchmark", "auto");
  else
    writer.key("cudnn_benchmark", train.cudnn_benchmark == CudnnBenchmark::on);
  writer.key("cuda_graph", to_string(train.cuda_graph));
  writer.key("cudnn_attention", train.cudnn_attention);
  writer.key("activation_checkpointing", train.activation_checkpointing);
  if (!train.average) return;
  const AveragePlan& average = *train.average;
  writer.table("train.average");
  writer.key("use", average.kind == AveragePlan::Kind::ema ? "ema" : "swa");
  if (average.kind == AveragePlan::Kind::ema) {
    writer.key("decay", average.decay);
    writer.key("warm_up", average.warm_up);
  }
  if (average.start.unit != Period::Unit::never) writer.key("start", to_string(average.start));
  writer.key("every", to_string(average.every));
}

void write_distributed(PlanWriter& writer, const DistributedSection& distributed) {
  writer.table("distributed");
  writer.key("processes", distributed.processes);
  writer.key("backend", to_string(distributed.backend));
  writer.key("interface", distributed.interface);
  writer.key("timeout_s", distributed.timeout_s);
  writer.key("bucket_mib", distributed.bucket_mib);
  writer.key("first_bucket_mib", distributed.first_bucket_mib);
  writer.key("compression", to_string(distributed.compression));
  writer.key("shard", to_string(distributed.shard));
  writer.key("find_unused_parameters", distributed.find_unused_parameters);
  writer.key("static_graph", distributed.static_graph);
  writer.key("synchronize_batch_norm", distributed.synchronize_batch_norm);
}

const char* to_string(CheckpointSection::Mode mode) {
  switch (mode) {
    case CheckpointSection::Mode::min: return "min";
    case CheckpointSection::Mode::max: return "max";
    default: return "auto";
  }
}

void write_training(PlanWriter& writer, const RunPlan& plan) {
  write_train(writer, plan.train);
  write_optimizer(writer, plan.optimizer);
  write_schedule(writer, plan.schedule);
  writer.table("validation");
  writer.key("every", to_string(plan.validation.every));
  writer.key("at_start", plan.validation.at_start);
  writer.table("checkpoint");
  writer.key("every", to_string(plan.checkpoint.every));
  writer.key("keep", plan.checkpoint.keep);
  writer.key("asynchronous", plan.checkpoint.asynchronous);
  writer.key("monitor", plan.checkpoint.monitor);
  writer.key("mode", to_string(plan.checkpoint.mode));
  writer.key("keep_best", plan.checkpoint.keep_best);
  writer.key("load_best_at_end", plan.checkpoint.load_best_at_end);
  writer.key("exclude_frozen_parameters", plan.checkpoint.exclude_frozen_parameters);
  writer.table("log");
  writer.key("every", to_string(plan.log.every));
  writer.key("tensorboard", plan.log.tensorboard);
  writer.key("histograms", to_string(plan.log.histograms));
  writer.key("samples", plan.log.samples);
}

}  // namespace

std::string print_run_plan(const RunPlan& plan) {
  PlanWriter writer;
  write_run(writer, plan);
  write_model(writer, plan.model);
  write_data(writer, plan.data);
  write_components(writer, plan);
  write_training(writer, plan);
  write_distributed(writer, plan.distributed);
  return writer.take();
}

}  // namespace tenon::config
