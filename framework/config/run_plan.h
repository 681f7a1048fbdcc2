// A run with nothing left unset: what resolve_run_plan() makes of a RunConfig, and all that the pipeline ever reads.
// Immutable once made; `host --check` prints it and plan.toml keeps it (see print_run_plan.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "framework/config/device_choice.h"
#include "framework/config/distributed_plan.h"
#include "framework/config/optimizer_plan.h"
#include "framework/config/period.h"
#include "framework/config/schedule_plan.h"
#include "framework/config/subset.h"
#include "framework/config/value.h"

namespace tenon::config {

// A component with its parameters, all of them.
struct ComponentPlan {
  std::string use;  // the component's id
  Values params;
  // Port -> source ("model.logits", "data.label"), as far as the run file says; the pipeline finds the others.
  std::map<std::string, std::string> inputs;
  std::string place;  // "configs/digits.toml:12:7", for messages about the component
};

// Whether operators whose results vary from run to run are let through.
enum class Determinism {
  off,
  warn,  // they are, with a warning
  on     // they are an error
};

struct RunSection {
  std::string name;                  // default: the run file's stem
  std::filesystem::path output_dir;  // absolute; default: "runs" in the working directory
  uint64_t seed;                     // default: 0
  Determinism deterministic;         // default: off
  int64_t threads;                   // of LibTorch's operators; 0: LibTorch chooses
  bool flush_denormal = false;       // numbers too small for a full mantissa are zero
  DeviceChoice device = {};          // default: automatic
  std::string device_place = {};     // for messages
};

// The only bytes that a plugin file of this name may have.
struct PluginPin {
  std::string file;    // its name, without folders: "spiral.so"
  std::string sha256;  // 64 lower-case hexadecimal digits
  std::string place;   // "run.toml:4:26", for messages
};

// What becomes of a file of weights whose tensors are not exactly the model's.
enum class WeightsMatch {
  strict,  // it is refused
  partial  // what fits is loaded, the rest of the model stays as it was initialised
};

struct ModelSection : ComponentPlan {
  std::filesystem::path weights;                      // safetensors to start from; empty: initialised from the seed
  WeightsMatch weights_match = WeightsMatch::strict;  // of `weights`
};

struct NamedDataset : ComponentPlan {
  std::string name;    // "train"; "validation", or "validation/<name>" where there are several
  Subset subset = {};  // the samples that are used; default: all
};

// The dataset of training with other parameters, from an epoch on.
struct LaterDataset : NamedDataset {
  int64_t at_epoch;  // at least 2
  Values changed;    // those of its parameters that it was made for
};

// Which samples an epoch of training has, and in which order.
enum class SamplerKind {
  uniform,         // each once
  weighted,        // as many as there are, drawn with replacement by the dataset's weights
  length_bucketed  // each once, with others of about its length
};

// What becomes of a sample that cannot be read.
enum class OnError {
  stop,  // it ends the run
  skip   // it is left out of its batch
};

// torchvision.transforms.v2.Normalize, of whole batches.
struct NormalizeBatch {
  std::string field;         // default: "image"
  std::vector<double> mean;  // of values in [0, 1]; default: ImageNet's
  std::vector<double> std;
};

// torchvision.transforms.v2.MixUp and CutMix, one of them for each training batch.
struct MixBatch {
  std::string image;                 // default: "image"
  std::string label;                 // default: "label"
  std::string target;                // the field that is added; default: "mixed_label"
  int64_t classes;                   // at least 1
  std::vector<std::string> methods;  // of "mix_up" and "cut_mix"; default: both
  double alpha;                      // of the beta distribution; default: 1
  double p;                          // of a batch to be mixed; default: 1
};

struct BatchTransformPlan {
  std::variant<NormalizeBatch, MixBatch> what;  // `use = "normalize"` or `"mix"`
  std::string place;
};

struct DataSection {
  int64_t batch_size;             // per process
  int64_t validation_batch_size;  // default: batch_size
  int64_t workers;                // threads; 0: the training thread reads the data itself
  int64_t prefetch;               // batches read ahead, at least 1
  bool shuffle;                   // the training data, by (seed, epoch); default: true
  SamplerKind sampler;            // of the training data; default: uniform
  OnError on_error;               // default: stop
  // An epoch, or a validation, ends after so many batches; 0: it does not.
  int64_t limit_batches = 0;
  int64_t validation_limit_batches = 0;
  uint64_t subset_seed = 0;  // which samples a subset has; one for all datasets, so that parts stay apart
  std::vector<BatchTransformPlan> batch_transforms;  // in order
  NamedDataset train;
  std::vector<LaterDataset> later_train;  // by their epochs; may be empty
  std::vector<NamedDataset> validation;   // may be empty
};

struct LossPlan : ComponentPlan {
  std::string name;  // default: its id; unique
  double weight;     // factor in the sum of losses; default: 1
};

struct MetricPlan : ComponentPlan {
  std::string name;  // default: its id; unique
};

// What forward and the losses compute in; weights and optimizer are float32 in all but the last.
enum class Precision {
  fp32,
  tf32,      // matrix products and convolutions of CUDA devices
  bf16,      // autocast
  fp16,      // autocast, with a dynamic loss scale
  bf16_true  // weights, optimizer state and inputs are bfloat16 too
};

std::string to_string(Precision precision);  // as the run file writes it

// What becomes of a step whose losses or gradients hold NaN or infinity. Its weights are never touched.
enum class NonFinite { stop, skip };

// How images, and the weights of convolutions, lie in memory.
enum class MemoryFormat {
  automatic,  // what is faster on the first batch; contiguous where the run is to be deterministic
  contiguous,
  channels_last
};

std::string to_string(MemoryFormat format);  // as the run file writes it

// Whether cuDNN times its convolutions on the first batch of each shape, and takes the fastest from then on.
enum class CudnnBenchmark {
  automatic,  // where all batches have one shape and the run need not be deterministic
  off,
  on
};

// Weights averaged over steps, which are what is evaluated and saved.
struct AveragePlan {
  enum class Kind {
    ema,  // exponential moving average: average = decay * average + (1 - decay) * weights
    swa   // Izmailov et al., "Averaging weights leads to wider optima", arXiv:1803.05407: each with the same share
  } kind;
  double decay;  // of ema; default: 0.999
  Period start;  // from when on; default: never, which is from the first step on
  Period every;  // default: "1 step" of ema, "1 epoch" of swa
};

// Which events a callback is told of, and when among the others. A period of "never" stands for none given.
struct EventFilter {
  Period every = {};                     // of the steps, the epochs or the time: default: all events
  Period after = {};                     // has passed; default: from the beginning
  bool once = false;                     // the events of one step alone, the first for which the others hold
  std::optional<int32_t> priority = {};  // default: the callback's own
};

struct CallbackPlan : ComponentPlan {
  EventFilter filter = {};
};

struct TrainSection {
  // Exactly one of the two is set by the user; the other is 0.
  int64_t epochs;
  int64_t steps;
  std::string place;       // of the one that is set, for messages
  int64_t accumulate = 1;  // batches of an optimizer step
  Precision precision = Precision::fp32;
  std::string precision_place = {};  // for messages
  double clip_norm = 0;              // of all gradients together; 0: not clipped
  double clip_value = 0;             // of each element; 0: not clipped
  NonFinite non_finite = NonFinite::stop;
  int64_t max_skipped_steps = 10;  // in a row, before the run ends
  MemoryFormat memory_format = MemoryFormat::contiguous;
  CudnnBenchmark cudnn_benchmark = CudnnBenchmark::automatic;
  bool activation_checkpointing = false;
  std::optional<AveragePlan> average = {};
};

struct ValidationSection {
  Period every;   // default: "1 epoch", or "never" without data.validation
  bool at_start;  // default: false
};

struct CheckpointSection {
  Period every;              // default: "1 epoch"; one is always written when the run ends
  int64_t keep;              // the newest ones kept; default: 3
  bool asynchronous = true;  // written while training goes on
  // The figure of a validation by which checkpoints are good; empty: none is. Default: validation/loss, of the first
  // set where there are several, and none where nothing is validated.
  std::string monitor = {};
  std::string monitor_place = {};  // for messages
  // Automatic: as its metric says.
  enum class Mode { automatic, min, max } mode = Mode::automatic;
  int64_t keep_best = 1;          // the best ones kept, beside the newest
  bool load_best_at_end = false;  // into the model, after the last step
};

struct LogSection {
  Period every;             // default: "50 steps"; a line is always written at an epoch's end
  bool tensorboard = true;  // the figures also go into an events file
  Period histograms = {};   // of weights and gradients, into the events file
  int64_t samples = 512;    // of the first validation, that are looked at for the report; 0: none
  bool png_plots = false;   // the curves also as PNG
};

struct RunPlan {
  std::filesystem::path file;  // the run file
  RunSection run;
  std::vector<std::filesystem::path> plugin_paths;  // --plugin-dir, then [plugins] paths; absolute
  std::vector<PluginPin> plugin_pins;               // [plugins] sha256, by file name
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
