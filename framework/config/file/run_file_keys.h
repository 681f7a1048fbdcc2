// The keys of the run file, in the order of plan.toml. The upper bounds are far beyond practical values. They keep
// later conversions, products and system calls from overflowing, which would fail far away from the location of the
// error.
#pragma once

#include "framework/config/file/keys.h"
#include "framework/config/plan/run_plan.h"

namespace tenon::config {

inline constexpr const char* kBatchSizes = "[1, 1e9]";
inline constexpr const char* kBatchLimits = "[0, 1e9]";
inline constexpr const char* kThreads = "[0, 4096]";       // also compared with the machine
inline constexpr const char* kBatchesAhead = "[1, 1e6]";   // also for batches of one step
inline constexpr const char* kEpochs = "[1, 4294967295]";  // 32 bits of the random streams
inline constexpr const char* kScheduledEpochs = "[2, 4294967295]";
inline constexpr const char* kKept = "[1, 1e9]";                   // files
inline constexpr const char* kSeeds = "[0, 9223372036854775807]";  // every integer of TOML that is not negative

template <class Visitor>
void declare(Visitor& keys, RunSection& run) {
  keys("name", run.name, {.on_resume = ResumePolicy::ignored, .doc = "Name of the run, part of its folder."});
  keys("output_dir", run.output_dir, {.on_resume = ResumePolicy::ignored, .doc = "Folder of the run folders."});
  keys("seed", run.seed,
       {.range = kSeeds, .on_resume = ResumePolicy::fixed_within_epoch, .doc = "Seed of all random numbers."});
  keys("deterministic", run.deterministic, {.doc = "Whether operators with nondeterministic results are errors."});
  keys("threads", run.threads, {.range = kThreads, .doc = "Threads of LibTorch's operators; 0: its default."});
  keys("flush_denormal", run.flush_denormal, {.doc = "Whether denormal numbers become zero."});
  keys("device", run.device, {.doc = "Device of the run."});
}

template <class Visitor>
void declare(Visitor& keys, ModelSection& model) {
  keys.on_resume(ResumePolicy::ignored);
  const bool is_written = !model.weights.empty();
  keys("weights", model.weights, {.is_written = is_written, .doc = "File with the initial weights."});
  keys("weights_match", model.weights_match,
       {.is_written = is_written, .doc = "Whether all tensors of the model and the file must match."});
  keys("weights_exclude", model.weights_exclude,
       {.is_written = !model.weights_exclude.empty(), .doc = "Name patterns of tensors that are not loaded."});
}

template <class Visitor>
void declare(Visitor& keys, NamedDataset& dataset) {
  keys("subset", dataset.subset, {.doc = "Samples to use."});
}

template <class Visitor>
void declare(Visitor& keys, FoldsSection& folds) {
  keys.on_resume(ResumePolicy::fixed);
  keys("count", folds.count, {.range = "[2, 1000]", .doc = "Number of folds."});
  keys("fold", folds.fold, {.range = "[0, 999]", .doc = "The fold to validate on, from 0."});
  keys("stratify", folds.stratify, {.doc = "Field with the labels that each fold has the same share of."});
  keys("group", folds.group, {.doc = "Field; samples with the same value are in the same fold."});
}

// `automatic_workers`: the number that workers = "auto" stands for.
template <class Visitor>
void declare(Visitor& keys, DataSection& data, int64_t automatic_workers = 1) {
  constexpr ResumePolicy kFixedWithinEpoch = ResumePolicy::fixed_within_epoch;
  keys("batch_size", data.batch_size, {.range = kBatchSizes, .doc = "Samples of a batch, per process."});
  keys("validation_batch_size", data.validation_batch_size,
       {.range = kBatchSizes, .doc = "The same for validation and test data."});
  keys("workers", data.workers,
       {.range = kThreads, .automatic = automatic_workers, .doc = "Worker threads that read samples."});
  keys("prefetch", data.prefetch, {.range = kBatchesAhead, .doc = "Batches to read ahead."});
  keys("shuffle", data.shuffle, {.on_resume = kFixedWithinEpoch, .doc = "Whether to shuffle the training data."});
  keys("drop_last", data.drop_last,
       {.on_resume = kFixedWithinEpoch, .doc = "Whether to leave out a last training batch that is smaller."});
  keys("sampler", data.sampler, {.on_resume = kFixedWithinEpoch, .doc = "Samples of an epoch and their order."});
  keys("repeated_augmentation", data.repeated_augmentation,
       {.range = "[1, 1000]", .on_resume = kFixedWithinEpoch, .doc = "How often an epoch has each sample."});
  keys("on_error", data.on_error, {.doc = "What to do with a sample that cannot be read."});
  keys("limit_batches", data.limit_batches,
       {.range = kBatchLimits, .on_resume = kFixedWithinEpoch, .doc = "Most batches of an epoch; 0: no limit."});
  keys("validation_limit_batches", data.validation_limit_batches,
       {.range = kBatchLimits, .doc = "Most batches of a validation; 0: no limit."});
  keys("test_limit_batches", data.test_limit_batches,
       {.range = kBatchLimits,
        .is_written = !data.test.empty(),
        .on_resume = ResumePolicy::ignored,
        .doc = "Most batches of the test data; 0: no limit."});
  keys("subset_seed", data.subset_seed,
       {.range = kSeeds, .on_resume = kFixedWithinEpoch, .doc = "Seed of all subsets."});
}

template <class Visitor>
void declare(Visitor& keys, LossPlan& loss) {
  keys("name", loss.name, {.doc = "Name in the history."});
  keys("weight", loss.weight, {.range = "(-inf, inf)", .doc = "Factor in the sum of losses."});
}

template <class Visitor>
void declare(Visitor& keys, MetricPlan& metric) {
  keys("name", metric.name, {.doc = "Name in the history."});
}

template <class Visitor>
void declare(Visitor& keys, EventFilter& filter) {
  keys("every", filter.every,
       {.is_written = filter.every.unit != Period::Unit::never, .doc = "Period of the events that are received."});
  keys("after", filter.after,
       {.is_written = filter.after.unit != Period::Unit::never, .doc = "Earlier events are not received."});
  keys("once", filter.once, {.doc = "Whether only events of one step are received."});
  // 32 bits
  keys("priority", filter.priority, {.range = "[-1e9, 1e9]", .doc = "Callbacks with smaller values are called first."});
}

template <class Visitor>
void declare(Visitor& keys, AveragePlan& average) {
  keys.on_resume(ResumePolicy::fixed);
  const bool is_ema = average.kind == AveragePlan::Kind::ema;
  keys("use", average.kind, {.doc = "Exponential moving average, or equal weights."});
  keys("decay", average.decay, {.range = "[0, 1)", .is_written = is_ema, .doc = "Decay of the average per update."});
  keys("warm_up", average.warm_up, {.is_written = is_ema, .doc = "Whether the decay grows from a small value."});
  keys("start", average.start,
       {.is_written = average.start.unit != Period::Unit::never, .doc = "When averaging starts."});
  keys("every", average.every, {.doc = "Period of the updates."});
}

template <class Visitor>
void declare(Visitor& keys, TrainSection& train) {
  // Counted exactly by a double.
  keys("epochs", train.epochs, {.range = kEpochs, .is_written = train.epochs > 0, .doc = "Epochs of the run."});
  keys("steps", train.steps,
       {.range = "[1, 1e15]", .is_written = train.steps > 0, .doc = "Optimizer steps of the run, instead of epochs."});
  keys("accumulate", train.accumulate, {.range = kBatchesAhead, .doc = "Batches of an optimizer step."});
  keys("precision", train.precision, {.on_resume = ResumePolicy::fixed, .doc = "Precision of forward and losses."});
  keys("clip_norm", train.clip_norm, {.range = "[0, inf)", .doc = "Maximum norm of the gradients; 0: none."});
  keys("clip_value", train.clip_value,
       {.range = "[0, inf)", .doc = "Maximum absolute value of a gradient element; 0: none."});
  keys("non_finite", train.non_finite, {.doc = "What to do when a loss or gradient is NaN or infinite."});
  keys("max_skipped_steps", train.max_skipped_steps,
       {.range = "[1, 1e9]", .doc = "Skipped steps in a row before the run ends."});
  keys("memory_format", train.memory_format, {.doc = "Memory format of images and of the weights of convolutions."});
  keys("cudnn_benchmark", train.cudnn_benchmark,
       {.doc = "Whether cuDNN measures its algorithms and uses the fastest."});
  keys("cuda_graph", train.cuda_graph, {.doc = "Whether batches run as a CUDA graph."});
  keys("cudnn_attention", train.cudnn_attention, {.doc = "Whether LibTorch may use cuDNN's kernels for attention."});
  keys("activation_checkpointing", train.activation_checkpointing,
       {.doc = "Whether backward computes activations again to save memory."});
}

template <class Visitor>
void declare(Visitor& keys, ParameterGroupPlan& group) {
  keys.on_resume(ResumePolicy::fixed);
  const bool has_rates = !group.frozen;
  keys("match", group.match, {.doc = "Patterns of parameter names."});
  keys("frozen", group.frozen, {.is_written = group.frozen, .doc = "Whether the parameters are never updated."});
  keys("lr_scale", group.lr_scale,
       {.range = "(0, inf)", .is_written = has_rates, .doc = "Factor of the learning rate."});
  keys("weight_decay", group.weight_decay,
       {.range = "[0, inf)", .is_written = has_rates, .doc = "Weight decay of all parameters of the group."});
  keys("frozen_epochs", group.frozen_epochs,
       {.range = kEpochs, .is_written = has_rates && group.frozen_epochs > 0, .doc = "First epochs without updates."});
  keys("eval_batch_norm", group.eval_batch_norm,
       {.is_written = group.eval_batch_norm, .doc = "Whether frozen batch norms run in evaluation mode."});
}

template <class Visitor>
void declare(Visitor& keys, ValidationSection& validation) {
  keys("every", validation.every, {.fractions = Fractions::yes, .doc = "Period of validations."});
  keys("at_start", validation.at_start, {.doc = "Whether to validate before the first step."});
}

template <class Visitor>
void declare(Visitor& keys, CheckpointSection& checkpoint) {
  keys.on_resume(ResumePolicy::ignored);
  keys("every", checkpoint.every, {.fractions = Fractions::yes, .doc = "Period of checkpoints."});
  keys("keep", checkpoint.keep, {.range = kKept, .doc = "Newest checkpoints to keep."});
  keys("asynchronous", checkpoint.asynchronous, {.doc = "Whether to write checkpoints while training continues."});
  keys("monitor", checkpoint.monitor, {.doc = "The validation metric that selects the best checkpoints."});
  keys("mode", checkpoint.mode, {.doc = "Whether the lowest or the highest value is the best."});
  keys("keep_best", checkpoint.keep_best, {.range = kKept, .doc = "Best checkpoints to keep."});
  keys("load_best_at_end", checkpoint.load_best_at_end,
       {.doc = "Whether to load the best weights after the last step."});
  keys("exclude_frozen_parameters", checkpoint.exclude_frozen_parameters,
       {.doc = "Whether to leave parameters that are never trained out of checkpoints."});
}

template <class Visitor>
void declare(Visitor& keys, LogSection& log) {
  keys.on_resume(ResumePolicy::ignored);
  keys("every", log.every, {.doc = "Period of lines of the history."});
  keys("tensorboard", log.tensorboard, {.doc = "Whether to write a TensorBoard events file, too."});
  keys("histograms", log.histograms, {.doc = "Period of histograms of weights and gradients in this file."});
  keys("samples", log.samples, {.range = "[0, 1e9]", .doc = "Validation samples to examine for the report; 0: none."});
}

template <class Visitor>
void declare(Visitor& keys, DistributedSection& distributed) {
  keys("processes", distributed.processes, {.range = "[1, 4096]", .doc = "Processes of the run on this machine."});
  keys("backend", distributed.backend, {.doc = "Library that transfers tensors between processes."});
  keys("interface", distributed.interface, {.doc = "Network interface to other machines; \"\": detected."});
  // Whole milliseconds.
  keys("timeout_s", distributed.timeout_s, {.range = "[0.001, 1e6]", .doc = "How long one process waits for another."});
  keys("bucket_mib", distributed.bucket_mib, {.range = "(0, 1e6]", .doc = "Size of a bucket of gradients."});
  keys("first_bucket_mib", distributed.first_bucket_mib, {.range = "(0, 1e6]", .doc = "Size of the first bucket."});
  keys("compression", distributed.compression, {.doc = "The dtype of gradients that are sent."});
  keys("shard", distributed.shard, {.on_resume = ResumePolicy::ignored, .doc = "What is divided over the processes."});
  keys("find_unused_parameters", distributed.find_unused_parameters,
       {.doc = "Whether the model skips parameters in some steps."});
  keys("static_graph", distributed.static_graph, {.doc = "Whether every step uses the same parameters."});
  keys("synchronize_batch_norm", distributed.synchronize_batch_norm,
       {.doc = "Whether batch statistics are those of the batches of all processes."});
}

}  // namespace tenon::config
