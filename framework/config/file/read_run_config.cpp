#include "framework/config/file/read_run_config.h"

#include <algorithm>

#include "framework/config/file/copy_training_data.h"
#include "framework/config/file/extended_file.h"
#include "framework/config/file/overrides.h"
#include "framework/config/file/table_reader.h"
#include "framework/config/file/usable_cores.h"
#include "framework/config/toml/diagnostics.h"
#include "framework/support/error.h"
#include "framework/support/files.h"
#include "framework/support/printable.h"

namespace tenon::config {
namespace {

// The upper bounds are far beyond practical values. They keep later conversions, products and system calls from
// overflowing, which would fail far away from the location of the error.
constexpr const char* kTrain = "train";
constexpr const char* kValidation = "validation";
constexpr const char* kTest = "test";
constexpr const char* kBatchSizes = "[1, 1e9]";
constexpr const char* kBatchLimits = "[0, 1e9]";
constexpr const char* kRepetitions = "[1, 1000]";
constexpr const char* kFolds = "[2, 1000]";
constexpr const char* kFoldNumbers = "[0, 999]";
constexpr const char* kThreads = "[0, 4096]";       // resolve_run_plan() also compares with the machine
constexpr const char* kBatchesAhead = "[1, 1e6]";   // also for batches of one step
constexpr const char* kEpochs = "[1, 4294967295]";  // 32 bits of the random streams
constexpr const char* kScheduledEpochs = "[2, 4294967295]";
constexpr const char* kProcesses = "[1, 4096]";
constexpr const char* kTimeouts = "[0.001, 1e6]";  // whole milliseconds
constexpr const char* kBucketSizes = "(0, 1e6]";
constexpr const char* kPriorities = "[-1e9, 1e9]";  // 32 bits
constexpr const char* kKept = "[1, 1e9]";           // files
constexpr const char* kSamples = "[0, 1e9]";
constexpr const char* kSeeds = "[0, 9223372036854775807]";  // every integer of TOML that is not negative
constexpr const char* kSteps = "[1, 1e15]";                 // counted exactly by a double

// Reads the keys that all components share.
void read_component(TableReader& table, ComponentConfig& config) {
  config.path = table.path();
  config.place = table.place();
  table.read("use", config.use);
  config.params = table.table("params").take_rest();
}

void read_inputs(TableReader& table, ComponentConfig& config) {
  TableReader inputs = table.table("inputs");
  for (const std::string& port : inputs.keys()) inputs.read(port, config.inputs[port]);
}

void read_run(TableReader table, RunSettings& run) {
  table.read("name", run.name).on_resume(ResumePolicy::ignored);
  table.read("output_dir", run.output_dir).on_resume(ResumePolicy::ignored);
  table.read("seed", run.seed, kSeeds).on_resume(ResumePolicy::fixed_within_epoch);
  table.read_flag_or("deterministic", run.deterministic, "warn");
  table.read("threads", run.threads, kThreads);
  table.read("flush_denormal", run.flush_denormal);
  table.read("device", run.device);
  table.reject_unknown_keys();
}

void read_plugins(TableReader table, RunConfig& config) {
  table.on_resume(ResumePolicy::ignored);
  table.read("paths", config.plugin_paths);
  TableReader digests = table.table("sha256");
  for (const std::string& file : digests.keys()) digests.read_digest(file, config.plugin_digests[file]);
  table.reject_unknown_keys();
}

void read_model(TableReader table, ModelConfig& model) {
  table.on_resume(ResumePolicy::fixed);
  read_component(table, model);
  table.on_resume(ResumePolicy::reported);
  read_inputs(table, model);
  table.on_resume(ResumePolicy::ignored);
  table.read("weights", model.weights);
  table.read("weights_match", model.weights_match, {"strict", "partial"});
  table.read("weights_exclude", model.weights_exclude);
  TableReader renames = table.table("weights_rename");
  for (const std::string& pattern : renames.keys()) renames.read(pattern, model.weights_rename[pattern]);
  table.reject_unknown_keys();
}

// `alike`: the datasets that `like` may name.
NamedDatasetConfig read_dataset(TableReader table, std::string name, const std::vector<std::string>& alike) {
  NamedDatasetConfig dataset;
  dataset.name = std::move(name);
  if (!alike.empty()) {
    Setting<std::string> applied;  // by copy_training_data()
    table.read("like", applied, alike);
  }
  read_component(table, dataset);
  table.read("subset", dataset.subset);
  table.reject_unknown_keys();
  return dataset;
}

DatasetChangeConfig read_dataset_change(TableReader table) {
  DatasetChangeConfig change;
  change.path = table.path();
  change.place = table.place();
  table.read("at_epoch", change.at_epoch, kScheduledEpochs);
  change.params = table.table("params").take_rest();
  table.reject_unknown_keys();
  return change;
}

void read_training_dataset(TableReader table, DataConfig& data) {
  table.on_resume(ResumePolicy::fixed_within_epoch);
  for (TableReader& change : table.tables("change"))
    data.train_changes.push_back(read_dataset_change(std::move(change)));
  data.train = read_dataset(std::move(table), kTrain, {});
}

// Reads a single dataset or a table of named datasets.
std::vector<NamedDatasetConfig> read_datasets(TableReader table, const std::string& name,
                                              const std::vector<std::string>& alike) {
  const std::vector<std::string> keys = table.keys();
  const bool are_all_tables =
      std::all_of(keys.begin(), keys.end(), [&](const auto& key) { return table.has_table(key); });
  const bool is_one = keys.empty() || !are_all_tables || table.has("use") || table.has("params");
  if (is_one) return {read_dataset(table, name, alike)};
  std::vector<NamedDatasetConfig> datasets;
  for (const std::string& key : keys) datasets.push_back(read_dataset(table.table(key), name + "/" + key, alike));
  return datasets;
}

// Reads [optimizer], [schedule] and [[data.batch_transform]]. The valid keys depend on `use`, so resolve_run_plan()
// checks them.
void read_choice(TableReader table, ComponentConfig& choice, ResumePolicy use_on_resume) {
  choice.path = table.path();
  choice.place = table.place();
  table.read("use", choice.use).on_resume(use_on_resume);
  choice.params = table.take_rest();
}

ParameterGroupConfig read_parameter_group(TableReader table) {
  table.on_resume(ResumePolicy::fixed);
  ParameterGroupConfig group;
  group.path = table.path();
  group.place = table.place();
  table.read("match", group.match);
  table.read("lr_scale", group.lr_scale, "(0, inf)");
  table.read("weight_decay", group.weight_decay, "[0, inf)");
  table.read("frozen", group.frozen);
  table.read("frozen_epochs", group.frozen_epochs, kEpochs);
  table.read("eval_batch_norm", group.eval_batch_norm);
  table.reject_unknown_keys();
  return group;
}

void read_optimizer(TableReader table, OptimizerConfig& optimizer) {
  for (TableReader& group : table.tables("group")) optimizer.groups.push_back(read_parameter_group(std::move(group)));
  read_choice(std::move(table), optimizer, ResumePolicy::fixed);
}

// Datasets are compared with these names when they are opened, also in a run that resumes.
void read_class_names(TableReader table, DataConfig& data) {
  table.on_resume(ResumePolicy::ignored);
  for (const std::string& field : table.keys()) table.read(field, data.class_names[field]);
}

// The test data are read after training, which does not depend on them.
void read_test_data(TableReader& table, DataConfig& data) {
  const bool has_test = table.has(kTest);
  TableReader test = table.table(kTest);
  test.on_resume(ResumePolicy::ignored);
  if (has_test) data.test = read_datasets(std::move(test), kTest, {kTrain, kValidation});
}

// A run that resumes with other folds would validate on samples that it has trained on.
void read_folds(TableReader& data, DataConfig& config) {
  const bool has_folds = data.has("folds");
  TableReader table = data.table("folds");
  table.on_resume(ResumePolicy::fixed);
  FoldsConfig folds{table.place(), {}, {}, {}, {}};
  table.read("count", folds.count, kFolds);
  table.read("fold", folds.fold, kFoldNumbers);
  table.read("stratify", folds.stratify);
  table.read("group", folds.group);
  table.reject_unknown_keys();
  if (has_folds) config.folds = std::move(folds);
}

// `processes` is the number of processes of the run, which share the cores.
void read_data(TableReader table, int64_t processes, DataConfig& data) {
  table.read("batch_size", data.batch_size, kBatchSizes);
  table.read("validation_batch_size", data.validation_batch_size, kBatchSizes);
  // One core is reserved for the training thread.
  const int64_t automatic = std::clamp<int64_t>(count_usable_cores() / processes - 1, 1, 4096);
  table.read_or_auto("workers", data.workers, kThreads, automatic);
  table.read("prefetch", data.prefetch, kBatchesAhead);
  table.read("shuffle", data.shuffle).on_resume(ResumePolicy::fixed_within_epoch);
  table.read("drop_last", data.drop_last).on_resume(ResumePolicy::fixed_within_epoch);
  table.read("sampler", data.sampler, {"uniform", "weighted", "length_bucketed"})
      .on_resume(ResumePolicy::fixed_within_epoch);
  table.read("repeated_augmentation", data.repeated_augmentation, kRepetitions)
      .on_resume(ResumePolicy::fixed_within_epoch);
  table.read("on_error", data.on_error, {"stop", "skip"});
  table.read("limit_batches", data.limit_batches, kBatchLimits).on_resume(ResumePolicy::fixed_within_epoch);
  table.read("validation_limit_batches", data.validation_limit_batches, kBatchLimits);
  table.read("test_limit_batches", data.test_limit_batches, kBatchLimits).on_resume(ResumePolicy::ignored);
  table.read("subset_seed", data.subset_seed, kSeeds).on_resume(ResumePolicy::fixed_within_epoch);
  read_folds(table, data);
  read_class_names(table.table("class_names"), data);
  for (TableReader& transform : table.tables("batch_transform"))
    read_choice(std::move(transform), data.batch_transforms.emplace_back(), ResumePolicy::reported);
  read_training_dataset(table.table("train"), data);
  const bool has_validation = table.has(kValidation);
  TableReader validation = table.table(kValidation);
  if (has_validation) data.validation = read_datasets(std::move(validation), kValidation, {kTrain});
  read_test_data(table, data);
  table.reject_unknown_keys();
}

LossConfig read_loss(TableReader table) {
  table.on_resume(ResumePolicy::fixed);
  LossConfig loss;
  read_component(table, loss);
  read_inputs(table, loss);
  table.read("name", loss.name);
  table.read("weight", loss.weight, "(-inf, inf)");
  table.reject_unknown_keys();
  return loss;
}

MetricConfig read_metric(TableReader table) {
  MetricConfig metric;
  read_component(table, metric);
  read_inputs(table, metric);
  table.read("name", metric.name);
  table.read("on", metric.on, {kTrain, kValidation, kTest}).on_resume(ResumePolicy::fixed_within_epoch);
  table.reject_unknown_keys();
  return metric;
}

CallbackConfig read_callback(TableReader table) {
  table.on_resume(ResumePolicy::fixed);
  CallbackConfig callback;
  read_component(table, callback);
  table.read("every", callback.every);
  table.read("after", callback.after);
  table.read("once", callback.once);
  table.read("priority", callback.priority, kPriorities);
  table.reject_unknown_keys();
  return callback;
}

AverageConfig read_average(TableReader table) {
  table.on_resume(ResumePolicy::fixed);
  AverageConfig average;
  table.read("use", average.use, {"ema", "swa"});
  table.read("decay", average.decay, "[0, 1)");
  table.read("warm_up", average.warm_up);
  table.read("start", average.start);
  table.read("every", average.every);
  table.reject_unknown_keys();
  return average;
}

void read_train(TableReader table, TrainConfig& train) {
  table.read("epochs", train.epochs, kEpochs);
  table.read("steps", train.steps, kSteps);
  table.read("accumulate", train.accumulate, kBatchesAhead);
  table.read("precision", train.precision, {"fp32", "tf32", "bf16", "fp16", "bf16_true"})
      .on_resume(ResumePolicy::fixed);
  table.read("clip_norm", train.clip_norm, "[0, inf)");
  table.read("clip_value", train.clip_value, "[0, inf)");
  table.read("non_finite", train.non_finite, {"stop", "skip"});
  table.read("max_skipped_steps", train.max_skipped_steps, "[1, 1e9]");
  table.read("memory_format", train.memory_format, {"auto", "contiguous", "channels_last"});
  table.read_flag_or("cudnn_benchmark", train.cudnn_benchmark, "auto");
  table.read("cuda_graph", train.cuda_graph, {"auto", "on", "off"});
  table.read("cudnn_attention", train.cudnn_attention);
  table.read("activation_checkpointing", train.activation_checkpointing);
  if (table.has("average")) train.average = read_average(table.table("average"));
  table.reject_unknown_keys();
}

void read_validation(TableReader table, ValidationConfig& validation) {
  table.read("every", validation.every, Fractions::yes);
  table.read("at_start", validation.at_start);
  table.reject_unknown_keys();
}

void read_checkpoint(TableReader table, CheckpointConfig& checkpoint) {
  table.on_resume(ResumePolicy::ignored);
  table.read("every", checkpoint.every, Fractions::yes);
  table.read("keep", checkpoint.keep, kKept);
  table.read("asynchronous", checkpoint.asynchronous);
  table.read("monitor", checkpoint.monitor);
  table.read("mode", checkpoint.mode, {"auto", "min", "max"});
  table.read("keep_best", checkpoint.keep_best, kKept);
  table.read("load_best_at_end", checkpoint.load_best_at_end);
  table.read("exclude_frozen_parameters", checkpoint.exclude_frozen_parameters);
  table.reject_unknown_keys();
}

void read_log(TableReader table, LogConfig& log) {
  table.on_resume(ResumePolicy::ignored);
  table.read("every", log.every);
  table.read("tensorboard", log.tensorboard);
  table.read("histograms", log.histograms);
  table.read("samples", log.samples, kSamples);
  table.reject_unknown_keys();
}

void read_distributed(TableReader table, DistributedConfig& distributed) {
  table.read("processes", distributed.processes, kProcesses);
  table.read("backend", distributed.backend, {"auto", "gloo", "nccl"});
  table.read("interface", distributed.interface);
  table.read("timeout_s", distributed.timeout_s, kTimeouts);
  table.read("bucket_mib", distributed.bucket_mib, kBucketSizes);
  table.read("first_bucket_mib", distributed.first_bucket_mib, kBucketSizes);
  table.read("compression", distributed.compression, {"none", "fp16", "bf16"});
  table.read("shard", distributed.shard, {"none", "optimizer", "gradients", "parameters"})
      .on_resume(ResumePolicy::ignored);
  table.read("find_unused_parameters", distributed.find_unused_parameters);
  table.read("static_graph", distributed.static_graph);
  table.read("synchronize_batch_norm", distributed.synchronize_batch_norm);
  table.reject_unknown_keys();
}

void read_document(TableReader table, RunConfig& config) {
  Setting<std::string> applied;  // by read_extended_file()
  table.read("extends", applied).on_resume(ResumePolicy::ignored);
  read_run(table.table("run"), config.run);
  read_plugins(table.table("plugins"), config);
  read_model(table.table("model"), config.model);
  read_distributed(table.table("distributed"), config.distributed);
  read_data(table.table("data"), config.distributed.processes.value_or(1), config.data);
  for (TableReader& loss : table.tables("loss")) config.losses.push_back(read_loss(loss));
  for (TableReader& metric : table.tables("metric")) config.metrics.push_back(read_metric(metric));
  for (TableReader& callback : table.tables("callback")) config.callbacks.push_back(read_callback(callback));
  read_train(table.table("train"), config.train);
  read_optimizer(table.table("optimizer"), config.optimizer);
  // The rates of a schedule depend on the step alone, or on a state that all parameters accept.
  read_choice(table.table("schedule"), config.schedule, ResumePolicy::fixed);
  read_validation(table.table("validation"), config.validation);
  read_checkpoint(table.table("checkpoint"), config.checkpoint);
  read_log(table.table("log"), config.log);
  table.reject_unknown_keys();
}

// The plan of a run has the path, and is a run file.
void require_utf8(const std::filesystem::path& path) {
  if (!support::is_utf8(path.string()))
    throw support::Error(support::ErrorKind::configuration,
                         path.string() +
                             ": the path is not UTF-8; expected UTF-8, because the run's plan.toml has paths: rename "
                             "the file or folder");
}

}  // namespace

RunConfig read_run_config(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                          const std::vector<std::filesystem::path>& plugin_directories) {
  ExtendedFile read = read_extended_file(file);
  Node& document = read.document;
  Diagnostics diagnostics;
  for (const std::string& text : overrides) apply_override(text, document, diagnostics);
  copy_training_data(document, diagnostics);
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

}  // namespace tenon::config
