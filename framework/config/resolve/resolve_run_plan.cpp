#include "framework/config/resolve/resolve_run_plan.h"

#include <algorithm>
#include <map>
#include <optional>

#include "framework/config/file/batch_transform_keys.h"
#include "framework/config/file/schema_keys.h"
#include "framework/config/file/usable_resources.h"
#include "framework/config/resolve/resolve_component.h"
#include "framework/config/resolve/resolve_training.h"
#include "framework/config/toml/diagnostics.h"

namespace tenon::config {
namespace {

// A name that becomes part of a file name or a metric name: "validation/accuracy".
void check_name(const std::string& name, const std::string& key, const SourceLocation& place,
                Diagnostics& diagnostics) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != name.npos)
    diagnostics.add(place, "{} is {}; expected a name without slashes that is not empty, \".\" or \"..\"", key,
                    to_toml(name));
}

// `name`: the value of this key, or this default if it is not set.
void resolve_name(std::string& name, const std::string& otherwise, const std::string& key, const Resolving& resolving) {
  const FoundKey& found = resolving.config.key(key);
  if (found.is_set)
    check_name(name, key, found.place, resolving.diagnostics);
  else
    name = otherwise;
}

// More threads than cores only wait for each other: an operator with hundreds on two cores seems to hang. The margin
// allows run files that were written for a larger machine.
void check_threads(const Resolving& resolving) {
  const int64_t threads = resolving.config.declared.run.threads;
  const int64_t cores = count_usable_cores();
  const int64_t most = std::max<int64_t>(4 * cores, 32);
  if (threads > most)
    resolving.add(
        "run.threads",
        "is {}, but this process can use {} {}; expected an integer in [0, {}]; set it to 0 for one thread per core",
        threads, cores, cores == 1 ? "core" : "cores", most);
}

void resolve_run(RunSection& run, const Resolving& resolving) {
  const RunConfig& config = resolving.config;
  resolve_name(run.name, config.file.stem().string(), "run.name", resolving);
  run.output_dir = resolve_path(run.output_dir.string(), config.working_folder);
  check_threads(resolving);
  run.device_place = to_string(config.place_of("run.device"));
  if (run.output_dir.empty()) resolving.add("run.output_dir", "is \"\"; expected a folder");
}

void resolve_model(ModelSection& model, const Resolving& resolving) {
  const RunConfig& config = resolving.config;
  Diagnostics& diagnostics = resolving.diagnostics;
  static_cast<ComponentPlan&>(model) = resolve_component(config.model, ComponentKind::model, resolving);
  model.weights = resolve_path(model.weights.string(), config.folder_of(config.place_of("model.weights")));
  for (const auto& [pattern, name] : config.weights_rename) {
    if (!name.value) continue;
    model.weights_rename[pattern] = *name.value;
    if (std::ranges::count(pattern, '*') > 1 ||
        std::ranges::count(pattern, '*') != std::ranges::count(*name.value, '*'))
      diagnostics.add(name.place,
                      "model.weights_rename.{} is {}; expected one * in both names, or none: \"backbone.*\" = \"*\"",
                      to_toml_key(pattern), to_toml(*name.value));
    else if (model.weights.empty())
      diagnostics.add(name.place,
                      "model.weights_rename is set, but model.weights is missing; set model.weights to a file of "
                      "weights, or remove model.weights_rename");
  }
  for (const std::string key : {"model.weights_exclude", "model.weights_match"})
    if (config.key(key).is_set && model.weights.empty())
      resolving.add(key, "is set, but model.weights is missing; set model.weights to a safetensors file, or remove {}",
                    key);
}

void resolve_dataset(NamedDataset& dataset, const ComponentConfig& config, const Resolving& resolving) {
  const size_t slash = dataset.name.find('/');
  if (slash != dataset.name.npos)
    check_name(dataset.name.substr(slash + 1), "the name of " + config.path, config.place, resolving.diagnostics);
  static_cast<ComponentPlan&>(dataset) = resolve_component(config, ComponentKind::dataset, resolving);
}

// Parameters that a change does not set keep their values. If the dataset is unknown, the parameters stay unresolved.
ScheduledDataset resolve_change(const DatasetChangeConfig& config, const NamedDataset& before,
                                const Resolving& resolving) {
  ScheduledDataset later{before, config.at_epoch.value_or(0), {}};
  later.place = to_string(config.place);
  if (!config.at_epoch.value)
    resolving.diagnostics.add(config.place, "{}.at_epoch is missing; expected the first epoch with these parameters",
                              config.path);
  if (config.params.empty())
    resolving.diagnostics.add(config.place, "{}.params is empty; expected at least one parameter of the dataset",
                              config.path);
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
  for (const DatasetChangeConfig& config : resolving.config.train_changes) {
    const NamedDataset& before = changes.empty() ? first : changes.back();
    const int64_t epoch_before = changes.empty() ? 1 : changes.back().at_epoch;
    changes.push_back(resolve_change(config, before, resolving));
    if (config.at_epoch.value && changes.back().at_epoch <= epoch_before)
      resolving.diagnostics.add(
          config.at_epoch.place,
          "{}.at_epoch is {}, after a change at epoch {}; expected changes in ascending order of at_epoch", config.path,
          changes.back().at_epoch, epoch_before);
  }
  return changes;
}

// Empty if there are errors.
std::optional<BatchTransformPlan> resolve_batch_transform(const ComponentConfig& config, const Resolving& resolving) {
  const std::string id = config.use.value_or("");
  const auto values = resolve_choice(config, "batch transform", batch_transform_schemas(), id, resolving);
  if (!values) return std::nullopt;
  const auto take = [&](auto transform) {
    ValueKeys keys(*values, config, resolving.diagnostics);
    declare(keys, transform);
    return BatchTransformPlan{std::move(transform), to_string(config.place)};
  };
  if (id == "normalize") return take(NormalizeBatch());
  BatchTransformPlan mix = take(MixBatch());
  if (std::get<MixBatch>(mix.what).methods.empty())
    resolving.diagnostics.add(config.place, "{}.methods is []; expected \"mix_up\", \"cut_mix\" or both", config.path);
  return mix;
}

ClassNames resolve_class_names(const Resolving& resolving) {
  ClassNames resolved;
  for (const auto& [field, names] : resolving.config.class_names) {
    if (!names.value) continue;
    if (const auto fault = find_name_fault(*names.value))
      resolving.diagnostics.add(
          names.place,
          "data.class_names.{} {}; expected a different name for each class, in the order of their numbers", field,
          *fault);
    resolved.emplace(field, *names.value);
  }
  return resolved;
}

// Gives each of the two datasets its part of the samples.
void resolve_folds(DataSection& data, const Resolving& resolving) {
  if (!data.folds) return;
  Diagnostics& diagnostics = resolving.diagnostics;
  const SourceLocation& place = resolving.config.folds_place;
  if (!resolving.config.key("data.folds.count").is_set)
    diagnostics.add(place, "data.folds.count is missing; expected the number of folds, such as 5");
  else if (data.folds->fold >= data.folds->count)
    resolving.add("data.folds.fold", "is {}; expected a number from 0 to {}, below data.folds.count", data.folds->fold,
                  data.folds->count - 1);
  if (data.validation.size() != 1)
    return diagnostics.add(place,
                           "data.folds divides [data.train] and [data.validation], but there {}; expected one: "
                           "[data.validation] with like = \"train\"",
                           data.validation.empty() ? "is no [data.validation]"
                                                   : fmt::format("are {} validation datasets", data.validation.size()));
  NamedDataset& validation = data.validation.front();
  if (validation.use != data.train.use)
    diagnostics.add(place,
                    "data.folds divides [data.train] and [data.validation], but data.train.use is {} and "
                    "data.validation.use is {}; expected the same: set like = \"train\"",
                    to_toml(data.train.use), to_toml(validation.use));
  if (!(validation.subset == data.train.subset))
    diagnostics.add(place,
                    "data.folds divides the samples of [data.train] and [data.validation], but their subsets are "
                    "\"{}\" and \"{}\"; expected the same",
                    to_string(data.train.subset), to_string(validation.subset));
  validation.part = FoldPart::validation;
  data.train.part = FoldPart::training;
  for (ScheduledDataset& later : data.scheduled_train) later.part = FoldPart::training;
}

void resolve_data(DataSection& data, const Resolving& resolving) {
  const RunConfig& config = resolving.config;
  if (!config.key("data.batch_size").is_set)
    resolving.add("data.batch_size", "is missing; expected the number of samples in a batch, such as 64");
  if (!config.key("data.validation_batch_size").is_set) data.validation_batch_size = data.batch_size;
  if (data.sampler == SamplerKind::weighted && !data.shuffle)
    resolving.add("data.shuffle",
                  "is false, but data.sampler = \"weighted\" samples at random; set data.shuffle = true, or remove it");
  data.class_names = resolve_class_names(resolving);
  for (const ComponentConfig& transform : config.batch_transforms)
    if (auto resolved = resolve_batch_transform(transform, resolving))
      data.batch_transforms.push_back(std::move(*resolved));
  resolve_dataset(data.train, config.train_data, resolving);
  data.scheduled_train = resolve_changes(data.train, resolving);
  for (size_t i = 0; i < data.validation.size(); ++i)
    resolve_dataset(data.validation[i], config.validation_data[i], resolving);
  for (size_t i = 0; i < data.test.size(); ++i) resolve_dataset(data.test[i], config.test_data[i], resolving);
  resolve_folds(data, resolving);
}

void resolve_losses(std::vector<LossPlan>& losses, const Resolving& resolving) {
  for (size_t i = 0; i < losses.size(); ++i) {
    const ComponentConfig& config = resolving.config.losses[i];
    static_cast<ComponentPlan&>(losses[i]) = resolve_component(config, ComponentKind::loss, resolving);
    resolve_name(losses[i].name, losses[i].use, config.path + ".name", resolving);
  }
  if (losses.empty())
    resolving.diagnostics.add({resolving.config.file.string(), 1, 1},
                              "there is no loss; expected at least one [[loss]] table");
}

// Metrics of the validation are also computed on the test data.
void resolve_on(const MetricConfig& config, const DataSection& data, MetricPlan& metric, Diagnostics& diagnostics) {
  const std::vector<std::string> on = config.on.value_or({"validation"});
  const bool names_test = std::ranges::count(on, "test") > 0;
  metric.on_train = std::ranges::count(on, "train") > 0;
  metric.on_validation = std::ranges::count(on, "validation") > 0;
  metric.on_test = metric.on_validation || names_test;
  if (on.empty())
    diagnostics.add(config.on.place, "{}.on is []; expected \"train\", \"validation\", \"test\" or several of them",
                    config.path);
  if (metric.on_validation && data.validation.empty() && data.test.empty())
    diagnostics.add(config.place,
                    "{} is a metric, but there is no [data.validation] to compute it on; add [data.validation], or set "
                    "on = [\"train\"]",
                    config.path);
  else if (names_test && data.test.empty())
    diagnostics.add(config.on.place,
                    "{}.on has \"test\", but there is no [data.test]; add [data.test], or remove \"test\"",
                    config.path);
}

void resolve_metrics(RunPlan& plan, const Resolving& resolving) {
  for (size_t i = 0; i < plan.metrics.size(); ++i) {
    const MetricConfig& config = resolving.config.metrics[i];
    MetricPlan& metric = plan.metrics[i];
    static_cast<ComponentPlan&>(metric) = resolve_component(config, ComponentKind::metric, resolving);
    resolve_name(metric.name, metric.use, config.path + ".name", resolving);
    resolve_on(config, plan.data, metric, resolving.diagnostics);
  }
}

// The history stores losses and metrics under these names, in one namespace.
void require_unique_names(const RunPlan& plan, const Resolving& resolving) {
  std::map<std::string, std::string> first_with;
  const auto add = [&](const std::string& name, const ComponentConfig& config) {
    const auto [first, is_new] = first_with.emplace(name, config.path);
    if (is_new || name.empty()) return;
    const FoundKey& written = resolving.config.key(config.path + ".name");
    resolving.diagnostics.add(
        written.is_set ? written.place : config.use.place,
        "{} has the name {}, which is already the name of {}; give each loss and metric a unique name: name = \"...\"",
        config.path, to_toml(name), first->second);
  };
  for (size_t i = 0; i < plan.losses.size(); ++i) add(plan.losses[i].name, resolving.config.losses[i]);
  for (size_t i = 0; i < plan.metrics.size(); ++i) add(plan.metrics[i].name, resolving.config.metrics[i]);
}

// "never" is valid in sections such as [validation]. A callback that never receives an event is an error.
void check_filter_period(const Period& period, const std::string& key, const Resolving& resolving) {
  if (resolving.config.key(key).is_set && period.unit == Period::Unit::never)
    resolving.add(key,
                  "is \"never\"; expected a period such as \"100 steps\"; to disable the callback, remove its table");
}

void resolve_callback(CallbackPlan& callback, const ComponentConfig& config, const Resolving& resolving) {
  static_cast<ComponentPlan&>(callback) = resolve_component(config, ComponentKind::callback, resolving);
  check_filter_period(callback.filter.every, config.path + ".every", resolving);
  check_filter_period(callback.filter.after, config.path + ".after", resolving);
}

void resolve_validation(RunPlan& plan, const Resolving& resolving) {
  if (!plan.data.validation.empty()) return;
  ValidationSection& validation = plan.validation;
  if (!resolving.config.key("validation.every").is_set) validation.every = {};
  const std::string no_data = ", but there is no [data.validation]; add [data.validation], or remove the key";
  if (validation.every.unit != Period::Unit::never)
    resolving.add("validation.every", "is {}{}", to_toml(to_string(validation.every)), no_data);
  if (validation.at_start) resolving.add("validation.at_start", "is true{}", no_data);
}

void resolve_checkpoint(RunPlan& plan, const Resolving& resolving) {
  CheckpointSection& checkpoint = plan.checkpoint;
  const FoundKey& monitor = resolving.config.key("checkpoint.monitor");
  const bool validates = plan.validation.every.unit != Period::Unit::never || plan.validation.at_start;
  if (!monitor.is_set && validates && !plan.data.validation.empty())
    checkpoint.monitor = plan.data.validation.front().name + "/loss";
  checkpoint.monitor_place = to_string(monitor.place);
  if (checkpoint.load_best_at_end && checkpoint.monitor.empty())
    resolving.add("checkpoint.load_best_at_end",
                  "is true, but no metric is monitored; set checkpoint.monitor to a validation metric, or remove "
                  "checkpoint.load_best_at_end");
}

// In search order, without duplicates. With these paths the plan alone finds the same plugins as the run.
std::vector<std::filesystem::path> resolve_all_plugin_paths(const RunConfig& config) {
  std::vector<std::filesystem::path> all = config.plugin_directories;
  for (std::filesystem::path& path : resolve_plugin_paths(config))
    if (std::ranges::find(all, path) == all.end()) all.push_back(std::move(path));
  return all;
}

void check_log(const LogSection& log, const Resolving& resolving) {
  if (log.histograms.unit != Period::Unit::never && !log.tensorboard)
    resolving.add("log.histograms",
                  "is \"{}\", but log.tensorboard is false; set log.tensorboard = true to write histograms to the "
                  "events file, or remove log.histograms",
                  to_string(log.histograms));
}

void check_distributed(const DistributedSection& distributed, const Resolving& resolving) {
  const RunConfig& config = resolving.config;
  if (!distributed.static_graph) return;
  const SourceLocation& place = config.place_of("distributed.static_graph");
  if (distributed.find_unused_parameters)
    resolving.diagnostics.add(std::max(config.place_of("distributed.find_unused_parameters"), place),
                              "distributed.find_unused_parameters and distributed.static_graph are both true; expected "
                              "one of them: a static graph detects its unused parameters in the first step");
  if (distributed.shard == Shard::gradients || distributed.shard == Shard::parameters)
    resolving.diagnostics.add(std::max(place, config.place_of("distributed.shard")),
                              "distributed.static_graph is true and distributed.shard is \"{}\"; expected one of them: "
                              "a gradient is sent and freed after its first computation in a backward",
                              to_string(distributed.shard));
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

RunPlan resolve_run_plan(const RunConfig& config, const SchemaSource& schemas, Needs needs) {
  const bool trains = needs == Needs::training;
  Diagnostics diagnostics;
  const Resolving resolving{config, schemas, diagnostics};
  RunPlan plan = config.declared;
  plan.file = config.file;
  resolve_run(plan.run, resolving);
  plan.plugin_paths = resolve_all_plugin_paths(config);
  plan.plugin_pins = resolve_plugin_pins(config);
  if (trains || config.model.use.value) resolve_model(plan.model, resolving);
  resolve_data(plan.data, resolving);
  if (trains || !plan.losses.empty()) resolve_losses(plan.losses, resolving);
  resolve_metrics(plan, resolving);
  require_unique_names(plan, resolving);
  for (size_t i = 0; i < plan.callbacks.size(); ++i)
    resolve_callback(plan.callbacks[i], config.callbacks[i], resolving);
  if (trains || config.key("train.epochs").is_set || config.key("train.steps").is_set) resolve_train(plan, resolving);
  if (trains || config.optimizer.use.value) {
    resolve_optimizer(plan.optimizer, resolving);
    plan.schedule = resolve_schedule(resolving, plan.optimizer);
  }
  resolve_validation(plan, resolving);
  resolve_checkpoint(plan, resolving);
  check_log(plan.log, resolving);
  check_distributed(plan.distributed, resolving);
  diagnostics.throw_if_any();
  return plan;
}

}  // namespace tenon::config
