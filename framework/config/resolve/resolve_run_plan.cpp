#include "framework/config/resolve/resolve_run_plan.h"

#include <algorithm>
#include <map>
#include <optional>

#include "framework/config/file/usable_cores.h"
#include "framework/config/resolve/resolve_choice.h"
#include "framework/config/resolve/resolve_component.h"
#include "framework/config/resolve/resolve_distributed.h"
#include "framework/config/resolve/resolve_optimizer.h"
#include "framework/config/resolve/resolve_params.h"
#include "framework/config/resolve/resolve_schedule.h"
#include "framework/config/resolve/resolve_train.h"
#include "framework/config/toml/diagnostics.h"

namespace tenon::config {
namespace {

// A name that becomes part of a file name or a metric name: "validation/accuracy".
std::string resolve_name(const Setting<std::string>& name, const std::string& otherwise, const std::string& key,
                         Diagnostics& diagnostics) {
  const std::string text = name.value_or(otherwise);
  const bool is_dots = text == "." || text == "..";
  if (name.value && (text.empty() || is_dots || text.find('/') != text.npos)) {
    diagnostics.add(name.place, key + " is " + to_toml(text) +
                                    "; expected a name without slashes that is not empty, \".\" or \"..\"");
  }
  return text;
}

// More threads than cores only wait for each other: an operator with hundreds on two cores seems to hang. The margin
// allows run files that were written for a larger machine.
void check_threads(const Setting<int64_t>& threads, Diagnostics& diagnostics) {
  const int64_t cores = count_usable_cores();
  const int64_t most = std::max<int64_t>(4 * cores, 32);
  if (threads.value_or(0) <= most) return;
  diagnostics.add(threads.place, "run.threads is " + std::to_string(*threads.value) + ", but this process can use " +
                                     std::to_string(cores) + (cores == 1 ? " core" : " cores") +
                                     "; expected an integer in [0, " + std::to_string(most) +
                                     "]; set it to 0 for one thread per core");
}

RunSection resolve_run(const RunConfig& config, Diagnostics& diagnostics) {
  RunSection run;
  run.name = resolve_name(config.run.name, config.file.stem().string(), "run.name", diagnostics);
  run.output_dir = resolve_path(config.run.output_dir.value_or("runs"), config.working_folder);
  run.seed = static_cast<uint64_t>(config.run.seed.value_or(0));
  const std::string deterministic = config.run.deterministic.value_or("false");
  run.deterministic = deterministic == "warn"   ? Determinism::warn
                      : deterministic == "true" ? Determinism::on
                                                : Determinism::off;
  check_threads(config.run.threads, diagnostics);
  run.threads = config.run.threads.value_or(0);
  run.flush_denormal = config.run.flush_denormal.value_or(false);
  run.device = config.run.device.value_or({});
  run.device_place = to_string(config.run.device.place);
  if (run.output_dir.empty()) diagnostics.add(config.run.output_dir.place, "run.output_dir is \"\"; expected a folder");
  return run;
}

ModelSection resolve_model(const Resolving& resolving) {
  const ModelConfig& config = resolving.config.model;
  ModelSection model{resolve_component(config, ComponentKind::model, resolving), {}};
  model.weights = resolve_path(config.weights.value_or(""), resolving.config.folder_of(config.weights.place));
  if (config.weights_match.value_or("strict") == "partial") model.weights_match = WeightsMatch::partial;
  model.weights_exclude = config.weights_exclude.value_or({});
  for (const auto& [pattern, name] : config.weights_rename) {
    if (!name.value) continue;
    model.weights_rename[pattern] = *name.value;
    if (std::ranges::count(pattern, '*') > 1 ||
        std::ranges::count(pattern, '*') != std::ranges::count(*name.value, '*'))
      resolving.diagnostics.add(name.place, "model.weights_rename." + to_toml_key(pattern) + " is " +
                                                to_toml(*name.value) +
                                                "; expected one * in both names, or none: \"backbone.*\" = \"*\"");
    else if (model.weights.empty())
      resolving.diagnostics.add(
          name.place,
          "model.weights_rename is set, but model.weights is missing; set model.weights to a file "
          "of weights, or remove model.weights_rename");
  }
  if (config.weights_exclude.value && model.weights.empty())
    resolving.diagnostics.add(
        config.weights_exclude.place,
        "model.weights_exclude is set, but model.weights is missing; set model.weights to a safetensors file, or "
        "remove model.weights_exclude");
  if (config.weights_match.value && model.weights.empty())
    resolving.diagnostics.add(
        config.weights_match.place,
        "model.weights_match is set, but model.weights is missing; set model.weights to a safetensors "
        "file, or remove model.weights_match");
  return model;
}

NamedDataset resolve_dataset(const NamedDatasetConfig& config, const Resolving& resolving) {
  const size_t slash = config.name.find('/');
  if (slash != config.name.npos) {
    const Setting<std::string> name{config.name.substr(slash + 1), config.place};
    resolve_name(name, "", "the name of " + config.path, resolving.diagnostics);
  }
  return {resolve_component(config, ComponentKind::dataset, resolving), config.name, config.subset.value_or({})};
}

// Parameters that a change does not set keep their values. If the dataset is unknown, the parameters stay unresolved.
ScheduledDataset resolve_change(const DatasetChangeConfig& config, const NamedDataset& before,
                                const Resolving& resolving) {
  ScheduledDataset later{before, config.at_epoch.value_or(0), {}};
  later.place = to_string(config.place);
  if (!config.at_epoch.value)
    resolving.diagnostics.add(config.place,
                              config.path + ".at_epoch is missing; expected the first epoch with these parameters");
  if (config.params.empty())
    resolving.diagnostics.add(config.place,
                              config.path + ".params is empty; expected at least one parameter of the dataset");
  const ComponentSchema* schema = resolving.schemas.find_schema(ComponentKind::dataset, before.use);
  if (schema == nullptr) return later;
  std::vector<ParamSchema> params = schema->params;
  for (ParamSchema& param : params)
    if (const auto value = before.params.find(param.name); value != before.params.end())
      param.default_value = value->second;
  later.params =
      resolve_params({schema->id, params, config.params, config.path + ".params", config.place, resolving.config},
                     resolving.diagnostics);
  for (const auto& [name, value] : later.params)
    if (config.params.contains(name)) later.changed[name] = value;
  return later;
}

std::vector<ScheduledDataset> resolve_changes(const NamedDataset& first, const Resolving& resolving) {
  std::vector<ScheduledDataset> changes;
  for (const DatasetChangeConfig& config : resolving.config.data.train_changes) {
    const NamedDataset& before = changes.empty() ? first : changes.back();
    const int64_t epoch_before = changes.empty() ? 1 : changes.back().at_epoch;
    changes.push_back(resolve_change(config, before, resolving));
    if (config.at_epoch.value && changes.back().at_epoch <= epoch_before)
      resolving.diagnostics.add(config.at_epoch.place, config.path + ".at_epoch is " +
                                                           std::to_string(changes.back().at_epoch) +
                                                           ", after a change at epoch " + std::to_string(epoch_before) +
                                                           "; expected changes in ascending order of at_epoch");
  }
  return changes;
}

// Empty if there are errors.
std::optional<BatchTransformPlan> resolve_batch_transform(const ComponentConfig& config, const Resolving& resolving) {
  const std::string id = config.use.value_or("");
  const auto values = resolve_choice(config, "batch transform", batch_transform_schemas(), id, resolving);
  if (!values) return std::nullopt;
  if (id == "normalize")
    return BatchTransformPlan{
        NormalizeBatch{get<std::string>(*values, "field"), get<std::vector<double>>(*values, "mean"),
                       get<std::vector<double>>(*values, "std")},
        to_string(config.place)};
  MixBatch mix{get<std::string>(*values, "image"),
               get<std::string>(*values, "label"),
               get<std::string>(*values, "target"),
               get<int64_t>(*values, "classes"),
               get<std::vector<std::string>>(*values, "methods"),
               get<double>(*values, "alpha"),
               get<double>(*values, "p")};
  if (mix.methods.empty()) {
    resolving.diagnostics.add(config.place, config.path + ".methods is []; expected \"mix_up\", \"cut_mix\" or both");
  }
  return BatchTransformPlan{std::move(mix), to_string(config.place)};
}

SamplerKind resolve_sampler(const DataConfig& config, Diagnostics& diagnostics) {
  const std::string sampler = config.sampler.value_or("uniform");
  if (sampler == "length_bucketed") return SamplerKind::length_bucketed;
  if (sampler != "weighted") return SamplerKind::uniform;
  if (!config.shuffle.value_or(true)) {
    diagnostics.add(
        config.shuffle.place,
        "data.shuffle is false, but data.sampler = \"weighted\" samples at random; set data.shuffle = true, or "
        "remove it");
  }
  return SamplerKind::weighted;
}

ClassNames resolve_class_names(const DataConfig& config, Diagnostics& diagnostics) {
  ClassNames resolved;
  for (const auto& [field, names] : config.class_names) {
    if (!names.value) continue;
    if (const auto fault = find_name_fault(*names.value))
      diagnostics.add(names.place, "data.class_names." + field + " " + *fault +
                                       "; expected a different name for each class, in the order of their numbers");
    resolved.emplace(field, *names.value);
  }
  return resolved;
}

// Gives each of the two datasets its part of the samples.
void resolve_folds(const DataConfig& config, DataSection& data, Diagnostics& diagnostics) {
  if (!config.folds) return;
  const FoldsConfig& folds = *config.folds;
  data.folds = {folds.count.value_or(2), folds.fold.value_or(0), folds.stratify.value_or(""), folds.group.value_or(""),
                to_string(folds.place)};
  if (!folds.count.value)
    diagnostics.add(folds.place, "data.folds.count is missing; expected the number of folds, such as 5");
  else if (data.folds->fold >= data.folds->count)
    diagnostics.add(folds.fold.place, "data.folds.fold is " + std::to_string(data.folds->fold) +
                                          "; expected a number from 0 to " + std::to_string(data.folds->count - 1) +
                                          ", below data.folds.count");
  if (data.validation.size() != 1) {
    diagnostics.add(folds.place, "data.folds divides [data.train] and [data.validation], but there " +
                                     (data.validation.empty()
                                          ? std::string("is no [data.validation]")
                                          : "are " + std::to_string(data.validation.size()) + " validation datasets") +
                                     "; expected one: [data.validation] with like = \"train\"");
    return;
  }
  NamedDataset& validation = data.validation.front();
  if (validation.use != data.train.use)
    diagnostics.add(folds.place, "data.folds divides [data.train] and [data.validation], but data.train.use is " +
                                     to_toml(data.train.use) + " and data.validation.use is " +
                                     to_toml(validation.use) + "; expected the same: set like = \"train\"");
  if (!(validation.subset == data.train.subset))
    diagnostics.add(folds.place,
                    "data.folds divides the samples of [data.train] and [data.validation], but their "
                    "subsets are " +
                        to_toml(to_string(data.train.subset)) + " and " + to_toml(to_string(validation.subset)) +
                        "; expected the same");
  validation.part = FoldPart::validation;
  data.train.part = FoldPart::training;
  for (ScheduledDataset& later : data.scheduled_train) later.part = FoldPart::training;
}

DataSection resolve_data(const Resolving& resolving) {
  const DataConfig& config = resolving.config.data;
  DataSection data;
  if (!config.batch_size.value) {
    resolving.diagnostics.add(config.batch_size.place,
                              "data.batch_size is missing; expected the number of samples in a batch, such as 64");
  }
  data.batch_size = config.batch_size.value_or(1);
  data.validation_batch_size = config.validation_batch_size.value_or(data.batch_size);
  data.workers = config.workers.value_or(2);
  data.prefetch = config.prefetch.value_or(2);
  data.shuffle = config.shuffle.value_or(true);
  data.drop_last = config.drop_last.value_or(false);
  data.sampler = resolve_sampler(config, resolving.diagnostics);
  data.repeated_augmentation = config.repeated_augmentation.value_or(1);
  data.on_error = config.on_error.value_or("stop") == "skip" ? OnError::skip : OnError::stop;
  data.limit_batches = config.limit_batches.value_or(0);
  data.validation_limit_batches = config.validation_limit_batches.value_or(0);
  data.test_limit_batches = config.test_limit_batches.value_or(0);
  data.subset_seed = static_cast<uint64_t>(config.subset_seed.value_or(0));
  data.class_names = resolve_class_names(config, resolving.diagnostics);
  for (const ComponentConfig& transform : config.batch_transforms)
    if (auto resolved = resolve_batch_transform(transform, resolving))
      data.batch_transforms.push_back(std::move(*resolved));
  data.train = resolve_dataset(config.train, resolving);
  data.scheduled_train = resolve_changes(data.train, resolving);
  for (const auto& dataset : config.validation) data.validation.push_back(resolve_dataset(dataset, resolving));
  for (const auto& dataset : config.test) data.test.push_back(resolve_dataset(dataset, resolving));
  resolve_folds(config, data, resolving.diagnostics);
  return data;
}

std::vector<LossPlan> resolve_losses(const Resolving& resolving) {
  std::vector<LossPlan> losses;
  for (const LossConfig& config : resolving.config.losses) {
    LossPlan loss{resolve_component(config, ComponentKind::loss, resolving), {}, config.weight.value_or(1)};
    loss.name = resolve_name(config.name, loss.use, config.path + ".name", resolving.diagnostics);
    losses.push_back(std::move(loss));
  }
  if (losses.empty()) {
    const SourceLocation start{resolving.config.file.string(), 1, 1};
    resolving.diagnostics.add(start, "there is no loss; expected at least one [[loss]] table");
  }
  return losses;
}

// Metrics of the validation are also computed on the test data.
void resolve_on(const MetricConfig& config, const DataConfig& data, MetricPlan& metric, Diagnostics& diagnostics) {
  const std::vector<std::string> on = config.on.value_or({"validation"});
  const bool names_test = std::ranges::count(on, "test") > 0;
  metric.on_train = std::ranges::count(on, "train") > 0;
  metric.on_validation = std::ranges::count(on, "validation") > 0;
  metric.on_test = metric.on_validation || names_test;
  if (on.empty())
    diagnostics.add(config.on.place,
                    config.path + ".on is []; expected \"train\", \"validation\", \"test\" or several of them");
  if (metric.on_validation && data.validation.empty() && data.test.empty())
    diagnostics.add(config.place, config.path +
                                      " is a metric, but there is no [data.validation] to compute it on; "
                                      "add [data.validation], or set on = [\"train\"]");
  else if (names_test && data.test.empty())
    diagnostics.add(config.on.place, config.path +
                                         ".on has \"test\", but there is no [data.test]; add [data.test], or remove "
                                         "\"test\"");
}

std::vector<MetricPlan> resolve_metrics(const Resolving& resolving) {
  std::vector<MetricPlan> metrics;
  for (const MetricConfig& config : resolving.config.metrics) {
    MetricPlan metric{resolve_component(config, ComponentKind::metric, resolving), {}};
    metric.name = resolve_name(config.name, metric.use, config.path + ".name", resolving.diagnostics);
    resolve_on(config, resolving.config.data, metric, resolving.diagnostics);
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

// The history stores losses and metrics under these names, in one namespace.
class UniqueNames {
 public:
  void add(const std::string& name, const std::string& path, const Setting<std::string>& written,
           const Setting<std::string>& use, Diagnostics& diagnostics) {
    const auto [first, is_new] = first_with_.emplace(name, path);
    if (is_new || name.empty()) return;
    diagnostics.add(written.value ? written.place : use.place,
                    path + " has the name " + to_toml(name) + ", which is already the name of " + first->second +
                        "; give each loss and metric a unique name: name = \"...\"");
  }

 private:
  std::map<std::string, std::string> first_with_;
};

void require_unique_names(const RunPlan& plan, const RunConfig& config, Diagnostics& diagnostics) {
  UniqueNames names;
  for (size_t i = 0; i < plan.losses.size(); ++i) {
    const LossConfig& loss = config.losses[i];
    names.add(plan.losses[i].name, loss.path, loss.name, loss.use, diagnostics);
  }
  for (size_t i = 0; i < plan.metrics.size(); ++i) {
    const MetricConfig& metric = config.metrics[i];
    names.add(plan.metrics[i].name, metric.path, metric.name, metric.use, diagnostics);
  }
}

// "never" is valid in sections such as [validation]. A callback that never receives an event is an error.
Period resolve_filter_period(const Setting<Period>& period, const std::string& key, Diagnostics& diagnostics) {
  if (period.value && period.value->unit == Period::Unit::never) {
    diagnostics.add(
        period.place,
        key + " is \"never\"; expected a period such as \"100 steps\"; to disable the callback, remove its table");
  }
  return period.value_or({});
}

CallbackPlan resolve_callback(const CallbackConfig& config, const Resolving& resolving) {
  CallbackPlan callback{resolve_component(config, ComponentKind::callback, resolving), {}};
  callback.filter.every = resolve_filter_period(config.every, config.path + ".every", resolving.diagnostics);
  callback.filter.after = resolve_filter_period(config.after, config.path + ".after", resolving.diagnostics);
  callback.filter.once = config.once.value_or(false);
  if (config.priority.value) callback.filter.priority = static_cast<int32_t>(*config.priority.value);
  return callback;
}

ValidationSection resolve_validation(const RunConfig& config, Diagnostics& diagnostics) {
  const ValidationConfig& requested = config.validation;
  const bool has_data = !config.data.validation.empty();
  const Period otherwise = has_data ? Period{Period::Unit::epochs, 1} : Period{};
  const ValidationSection validation{requested.every.value_or(otherwise), requested.at_start.value_or(false)};
  const std::string no_data = ", but there is no [data.validation]; add [data.validation], or remove the key";
  if (!has_data && validation.every.unit != Period::Unit::never) {
    diagnostics.add(requested.every.place, "validation.every is " + to_toml(to_string(validation.every)) + no_data);
  }
  if (!has_data && validation.at_start)
    diagnostics.add(requested.at_start.place, "validation.at_start is true" + no_data);
  return validation;
}

CheckpointSection::Mode parse_mode(const std::string& mode) {
  if (mode == "min") return CheckpointSection::Mode::min;
  return mode == "max" ? CheckpointSection::Mode::max : CheckpointSection::Mode::automatic;
}

CheckpointSection resolve_checkpoint(const CheckpointConfig& config, const RunPlan& plan, Diagnostics& diagnostics) {
  CheckpointSection checkpoint{config.every.value_or({Period::Unit::epochs, 1}), config.keep.value_or(3)};
  checkpoint.asynchronous = config.asynchronous.value_or(true);
  const bool validates = plan.validation.every.unit != Period::Unit::never || plan.validation.at_start;
  const bool can_monitor = validates && !plan.data.validation.empty();
  checkpoint.monitor = config.monitor.value_or(can_monitor ? plan.data.validation.front().name + "/loss" : "");
  checkpoint.monitor_place = to_string(config.monitor.place);
  checkpoint.mode = parse_mode(config.mode.value_or("auto"));
  checkpoint.keep_best = config.keep_best.value_or(1);
  checkpoint.load_best_at_end = config.load_best_at_end.value_or(false);
  checkpoint.exclude_frozen_parameters = config.exclude_frozen_parameters.value_or(false);
  if (checkpoint.load_best_at_end && checkpoint.monitor.empty())
    diagnostics.add(
        config.load_best_at_end.place,
        "checkpoint.load_best_at_end is true, but no metric is monitored; set checkpoint.monitor to a validation "
        "metric, or remove checkpoint.load_best_at_end");
  return checkpoint;
}

// In search order, without duplicates. With these paths the plan alone finds the same plugins as the run.
std::vector<std::filesystem::path> resolve_all_plugin_paths(const RunConfig& config) {
  std::vector<std::filesystem::path> all = config.plugin_directories;
  for (std::filesystem::path& path : resolve_plugin_paths(config))
    if (std::find(all.begin(), all.end(), path) == all.end()) all.push_back(std::move(path));
  return all;
}

LogSection resolve_log(const LogConfig& config, Diagnostics& diagnostics) {
  LogSection log;
  log.every = config.every.value_or({Period::Unit::steps, 50});
  log.tensorboard = config.tensorboard.value_or(true);
  log.histograms = config.histograms.value_or({});
  log.samples = config.samples.value_or(log.samples);
  if (log.histograms.unit != Period::Unit::never && !log.tensorboard)
    diagnostics.add(
        config.histograms.place,
        "log.histograms is \"" + to_string(log.histograms) +
            "\", but log.tensorboard is false; set log.tensorboard = true to write histograms to the events "
            "file, or remove log.histograms");
  return log;
}

}  // namespace

std::vector<std::filesystem::path> resolve_plugin_paths(const RunConfig& config) {
  std::vector<std::filesystem::path> paths;
  for (const std::string& path : config.plugin_paths.value_or({}))
    paths.push_back(resolve_path(path, config.folder_of(config.plugin_paths.place)));
  return paths;
}

std::vector<PluginPin> resolve_plugin_pins(const RunConfig& config) {
  std::vector<PluginPin> pins;
  for (const auto& [file, digest] : config.plugin_digests)
    if (digest.value) pins.push_back({file, *digest.value, to_string(digest.place)});
  return pins;
}

RunPlan resolve_run_plan(const RunConfig& config, const SchemaSource& schemas) {
  Diagnostics diagnostics;
  const Resolving resolving{config, schemas, diagnostics};
  RunPlan plan;
  plan.file = config.file;
  plan.run = resolve_run(config, diagnostics);
  plan.plugin_paths = resolve_all_plugin_paths(config);
  plan.plugin_pins = resolve_plugin_pins(config);
  plan.model = resolve_model(resolving);
  plan.data = resolve_data(resolving);
  plan.losses = resolve_losses(resolving);
  plan.metrics = resolve_metrics(resolving);
  require_unique_names(plan, config, diagnostics);
  for (const auto& callback : config.callbacks) plan.callbacks.push_back(resolve_callback(callback, resolving));
  plan.train = resolve_train(config.train, plan.run.deterministic, diagnostics);
  plan.optimizer = resolve_optimizer(resolving);
  plan.schedule = resolve_schedule(resolving, plan.optimizer);
  plan.validation = resolve_validation(config, diagnostics);
  plan.checkpoint = resolve_checkpoint(config.checkpoint, plan, diagnostics);
  plan.log = resolve_log(config.log, diagnostics);
  plan.distributed = resolve_distributed(config.distributed, diagnostics);
  diagnostics.throw_if_any();
  return plan;
}

}  // namespace tenon::config
