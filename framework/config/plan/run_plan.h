// The complete plan of a run: all settings with defaults. resolve_run_plan() creates it from a RunConfig, and the
// pipeline reads nothing else. It is immutable. `host --check` prints it, and plan.toml stores it (see
// format_run_plan.h). Only RunConfig::declared is a RunPlan that is not resolved yet.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "framework/config/plan/distributed_plan.h"
#include "framework/config/plan/optimizer_plan.h"
#include "framework/config/plan/schedule_plan.h"
#include "framework/config/toml/value.h"
#include "framework/config/values/class_names.h"
#include "framework/config/values/enum_names.h"
#include "framework/config/values/text_values.h"

namespace tenon::config {

// A component with all its parameters.
struct ComponentPlan {
  std::string use;  // the component's id
  Values params;
  // Input -> source ("model.logits", "data.label"), as set in the run file. The pipeline connects the other inputs.
  std::map<std::string, std::string> inputs;
  std::string place;  // "configs/digits.toml:12:7", for messages about the component
  std::vector<std::string> left_out =
      {};  // the parameters that the run file leaves out, with their defaults in `params`
};

// How to handle operators with nondeterministic results.
enum class Determinism {
  off,
  warn,  // allowed, with a warning
  on     // an error
};
template <>
inline constexpr std::array kNames<Determinism> = {
    EnumName{Determinism::off, "false"}, EnumName{Determinism::warn, "warn"}, EnumName{Determinism::on, "true"}};

struct RunSection {
  std::string name;                           // default: file name of the run file without its extension
  std::filesystem::path output_dir = "runs";  // made absolute from the working directory
  uint64_t seed = 0;
  Determinism deterministic = Determinism::off;
  int64_t threads = 0;            // of LibTorch's operators; 0: LibTorch's default
  bool flush_denormal = false;    // denormal numbers become zero
  DeviceChoice device = {};       // default: automatic
  std::string device_place = {};  // for messages
};

// The expected digest of a plugin file.
struct PluginPin {
  std::string file;                                        // file name without folders: "spiral.so"
  std::string sha256;                                      // 64 lower-case hexadecimal digits
  std::string place;                                       // "run.toml:4:26", for messages
  std::string remedy = "pin the new one if you trust it";  // how to use another file, for messages
};

// How to handle a weights file with tensors that differ from those of the model.
enum class WeightsMatch {
  strict,  // an error
  partial  // matching tensors are loaded; the others keep their initial values
};
template <>
inline constexpr std::array kNames<WeightsMatch> = {EnumName{WeightsMatch::strict, "strict"},
                                                    EnumName{WeightsMatch::partial, "partial"}};

struct ModelSection : ComponentPlan {
  std::filesystem::path weights;                      // safetensors file; empty: initialise from the seed
  WeightsMatch weights_match = WeightsMatch::strict;  // how to match `weights`
  std::vector<std::string> weights_exclude = {};      // patterns of tensors that are not loaded
  // Names in the file by pattern, and the names of the model, with at most one * in both.
  std::map<std::string, std::string> weights_rename = {};
  // Weights of a checkpoint, which replace those of `weights`. Not a key of the run file: commands such as `host
  // evaluate` set it.
  std::filesystem::path checkpoint = {};
};

// The samples that a dataset has of those that data.folds divides.
enum class FoldPart {
  all,        // the dataset is not divided
  training,   // all folds but one
  validation  // the other one
};

struct NamedDataset : ComponentPlan {
  std::string name;    // "train"; "validation" or "test", or "validation/<name>" or "test/<name>" for named datasets
  Subset subset = {};  // samples to use; default: all
  FoldPart part = FoldPart::all;  // of the subset
  // What the training data derived, see tenon/draft/fitted_data.h; empty: the dataset derives it from the data that it
  // reads. Not a key of the run file.
  std::string fitted = {};
};

// Cross-validation: the samples of data.train are divided into folds. One fold is validated on, the others are trained
// on.
struct FoldsSection {
  int64_t count = 2;     // number of folds
  int64_t fold = 0;      // the one to validate on
  std::string stratify;  // field with the labels that each fold has the same share of; default: none
  std::string group;     // field; samples with the same value are in the same fold; default: none
  std::string place;     // for messages
};

// The training dataset with other parameters, starting at an epoch.
struct ScheduledDataset : NamedDataset {
  int64_t at_epoch = 0;  // at least 2
  Values changed;        // the parameters that the change sets
};

// The samples of a training epoch and their order.
enum class SamplerKind {
  uniform,         // every sample once
  weighted,        // as many as there are, sampled with replacement by the dataset's weights
  length_bucketed  // every sample once, in batches of similar length
};
template <>
inline constexpr std::array kNames<SamplerKind> = {EnumName{SamplerKind::uniform, "uniform"},
                                                   EnumName{SamplerKind::weighted, "weighted"},
                                                   EnumName{SamplerKind::length_bucketed, "length_bucketed"}};

// How to handle a sample that cannot be read.
enum class OnError {
  stop,  // end the run
  skip   // leave the sample out of its batch
};
template <>
inline constexpr std::array kNames<OnError> = {EnumName{OnError::stop, "stop"}, EnumName{OnError::skip, "skip"}};

// torchvision.transforms.v2.Normalize, applied to whole batches.
struct NormalizeBatch {
  std::string field = "image";
  std::vector<double> mean = {0.485, 0.456, 0.406};  // for values in [0, 1]; default: ImageNet's
  std::vector<double> std = {0.229, 0.224, 0.225};
};

// torchvision.transforms.v2.MixUp and CutMix. One of them is applied to each training batch.
struct MixBatch {
  std::string image = "image";
  std::string label = "label";
  std::string target = "mixed_label";  // name of the added field
  int64_t classes = 0;                 // at least 1; 0: that of the label, until the data are known
  std::vector<std::string> methods = {"mix_up", "cut_mix"};
  double alpha = 1;  // parameter of the beta distribution
  double p = 1;      // probability that a batch is mixed
};

struct BatchTransformPlan {
  std::variant<NormalizeBatch, MixBatch> what;  // `use = "normalize"` or `"mix"`
  std::string place;
};

struct DataSection {
  int64_t batch_size = 1;             // per process
  int64_t validation_batch_size = 1;  // default: batch_size
  int64_t workers = 2;                // number of worker threads; 0: the training thread reads the data
  int64_t prefetch = 2;               // number of batches to read ahead, at least 1
  bool shuffle = true;                // shuffle the training data by (seed, epoch)
  bool drop_last = false;             // leave the last training batch out of an epoch if it is smaller than the others
  SamplerKind sampler = SamplerKind::uniform;  // of the training data
  OnError on_error = OnError::stop;
  // How often a training epoch has each of its samples, with different random numbers.
  int64_t repeated_augmentation = 1;
  // Maximum number of batches of an epoch or a validation; 0: no limit.
  int64_t limit_batches = 0;
  int64_t validation_limit_batches = 0;
  int64_t test_limit_batches = 0;  // the same for the test data
  uint64_t subset_seed = 0;        // seed of subsets, shared by all datasets, so that disjoint subsets stay disjoint
  // The classes that the labels of all datasets are numbered by. A field that it lacks is numbered as the training data
  // number it.
  ClassNames class_names = {};
  std::string class_names_source = "data.class_names";  // for messages; a file of weights if the names are from there
  std::optional<FoldsSection> folds = {};
  std::vector<BatchTransformPlan> batch_transforms;  // in order
  NamedDataset train;
  std::vector<ScheduledDataset> scheduled_train;  // ordered by epoch; may be empty
  std::vector<NamedDataset> validation;           // may be empty
  std::vector<NamedDataset> test;                 // evaluated once, after training; may be empty
};

struct LossPlan : ComponentPlan {
  std::string name;   // default: its id; unique
  double weight = 1;  // factor in the sum of losses
};

struct MetricPlan : ComponentPlan {
  std::string name;  // default: its id; unique
  bool on_train = false;
  bool on_validation = true;
  bool on_test = true;  // also if on_validation
};

// The precision of forward and the losses. Weights and optimizer are float32, except with bf16_true.
enum class Precision {
  fp32,
  tf32,      // for matrix products and convolutions on CUDA devices
  bf16,      // autocast
  fp16,      // autocast, with a dynamic loss scale
  bf16_true  // weights, optimizer state and inputs are bfloat16 too
};
template <>
inline constexpr std::array kNames<Precision> = {EnumName{Precision::fp32, "fp32"}, EnumName{Precision::tf32, "tf32"},
                                                 EnumName{Precision::bf16, "bf16"}, EnumName{Precision::fp16, "fp16"},
                                                 EnumName{Precision::bf16_true, "bf16_true"}};

// What to do when a loss or gradient is NaN or infinite. Such a step never changes the weights.
enum class NonFinite { stop, skip };
template <>
inline constexpr std::array kNames<NonFinite> = {EnumName{NonFinite::stop, "stop"}, EnumName{NonFinite::skip, "skip"}};

// The memory format of images and of the weights of convolutions.
enum class MemoryFormat {
  automatic,  // by the model, the device and the precision
  contiguous,
  channels_last
};
template <>
inline constexpr std::array kNames<MemoryFormat> = {EnumName{MemoryFormat::automatic, "auto"},
                                                    EnumName{MemoryFormat::contiguous, "contiguous"},
                                                    EnumName{MemoryFormat::channels_last, "channels_last"}};

// Whether forward, losses and backward of a batch run as a CUDA graph.
enum class CudaGraph {
  automatic,  // if the components declare that they can be captured and the first replay has the same results
  off,
  on  // the run ends if it is not possible
};
template <>
inline constexpr std::array kNames<CudaGraph> = {EnumName{CudaGraph::automatic, "auto"}, EnumName{CudaGraph::on, "on"},
                                                 EnumName{CudaGraph::off, "off"}};

// Whether cuDNN benchmarks its convolution algorithms on the first batch of each shape and then uses the fastest.
enum class CudnnBenchmark {
  automatic,  // on if all batches have one shape and the run is not deterministic
  off,
  on
};
template <>
inline constexpr std::array kNames<CudnnBenchmark> = {EnumName{CudnnBenchmark::automatic, "auto"},
                                                      EnumName{CudnnBenchmark::off, "false"},
                                                      EnumName{CudnnBenchmark::on, "true"}};

// Weights averaged over steps. Evaluation and saving use the averaged weights.
struct AveragePlan {
  enum class Kind {
    ema,  // exponential moving average: average = decay * average + (1 - decay) * weights
    swa   // Izmailov et al., "Averaging weights leads to wider optima", arXiv:1803.05407; equal weights
  } kind = Kind::ema;
  double decay = 0.999;                     // for ema
  bool warm_up = false;                     // for ema: the n-th update decays by min(decay, (1 + n) / (10 + n))
  Period start = {};                        // when averaging starts; never: at the first step
  Period every = {Period::Unit::steps, 1};  // default: "1 step" for ema, "1 epoch" for swa
};
template <>
inline constexpr std::array kNames<AveragePlan::Kind> = {EnumName{AveragePlan::Kind::ema, "ema"},
                                                         EnumName{AveragePlan::Kind::swa, "swa"}};

// Filters the events of a callback and orders the callback among the others. "never" means that a period is not set.
struct EventFilter {
  Period every = {};                     // interval in steps, epochs or time; default: all events
  Period after = {};                     // events start after this period; default: at the beginning
  bool once = false;                     // only events of the first step that passes `every` and `after`
  std::optional<int32_t> priority = {};  // default: the priority of the callback
};

struct CallbackPlan : ComponentPlan {
  EventFilter filter = {};
};

struct TrainSection {
  // Exactly one of the two is set by the user; the other is 0.
  int64_t epochs = 0;
  int64_t steps = 0;
  std::string place;       // location of the one that is set, for messages
  int64_t accumulate = 1;  // gradient accumulation: batches per optimizer step
  Precision precision = Precision::fp32;
  std::string precision_place = {};  // for messages
  double clip_norm = 0;              // maximum norm of all gradients; 0: no clipping
  double clip_value = 0;             // maximum absolute value of a gradient element; 0: no clipping
  NonFinite non_finite = NonFinite::stop;
  int64_t max_skipped_steps = 10;  // number of skipped steps in a row before the run ends
  MemoryFormat memory_format = MemoryFormat::automatic;
  CudnnBenchmark cudnn_benchmark = CudnnBenchmark::automatic;
  CudaGraph cuda_graph = CudaGraph::automatic;
  bool cudnn_attention = true;  // whether LibTorch may choose cuDNN's kernels for attention
  bool activation_checkpointing = false;
  std::optional<AveragePlan> average = {};
};

struct ValidationSection {
  Period every = {Period::Unit::epochs, 1};  // default: "1 epoch", or "never" without data.validation
  bool at_start = false;
};

struct CheckpointSection {
  Period every = {Period::Unit::epochs, 1};  // the end of the run always writes one
  int64_t keep = 3;                          // number of newest checkpoints to keep
  bool asynchronous = true;                  // write checkpoints while training continues
  // The validation metric that selects the best checkpoints; empty: none. The default is validation/loss, or the loss
  // of the first of several validation datasets. Without validation the default is empty.
  std::string monitor = {};
  std::string monitor_place = {};  // for messages
  // Automatic: the metric defines the direction.
  enum class Mode { automatic, min, max } mode = Mode::automatic;
  int64_t keep_best = 1;          // number of best checkpoints to keep, in addition to the newest
  bool load_best_at_end = false;  // load the best weights after the last step
  // Leave parameters that are never trained out of checkpoints; they come from the initial weights.
  bool exclude_frozen_parameters = false;
};
template <>
inline constexpr std::array kNames<CheckpointSection::Mode> = {EnumName{CheckpointSection::Mode::automatic, "auto"},
                                                               EnumName{CheckpointSection::Mode::min, "min"},
                                                               EnumName{CheckpointSection::Mode::max, "max"}};

struct LogSection {
  Period every = {Period::Unit::steps, 50};  // the end of an epoch always writes a line
  bool tensorboard = true;                   // also write the metrics to a TensorBoard events file
  Period histograms = {};                    // histograms of weights and gradients in the events file
  int64_t samples = 512;                     // validation samples to examine for the report; 0: none
};

struct RunPlan {
  std::filesystem::path file;  // the run file
  RunSection run;
  std::vector<std::filesystem::path> plugin_paths;  // --plugin-dir, then [plugins] paths; absolute
  std::vector<PluginPin> plugin_pins;               // [plugins] sha256, ordered by file name
  ModelSection model;
  DataSection data;
  std::vector<LossPlan> losses;  // at least one
  std::vector<MetricPlan> metrics;
  std::vector<CallbackPlan> callbacks;
  TrainSection train;
  OptimizerPlan optimizer;
  SchedulePlan schedule;
  ValidationSection validation;
  CheckpointSection checkpoint;
  LogSection log;
  DistributedSection distributed;
};

}  // namespace tenon::config
