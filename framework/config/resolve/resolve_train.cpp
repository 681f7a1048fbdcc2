#include "framework/config/resolve/resolve_train.h"

#include <algorithm>

#include "framework/config/toml/value.h"

namespace tenon::config {
namespace {

Precision to_precision(const std::string& name) {
  if (name == "tf32") return Precision::tf32;
  if (name == "bf16") return Precision::bf16;
  if (name == "fp16") return Precision::fp16;
  return name == "bf16_true" ? Precision::bf16_true : Precision::fp32;
}

bool counts_steps(const Period& period) {
  return period.unit == Period::Unit::steps || period.unit == Period::Unit::epochs;
}

MemoryFormat to_memory_format(const std::string& text) {
  if (text == "auto") return MemoryFormat::automatic;
  return text == "channels_last" ? MemoryFormat::channels_last : MemoryFormat::contiguous;
}

CudaGraph to_cuda_graph(const std::string& text) {
  if (text == "auto") return CudaGraph::automatic;
  return text == "on" ? CudaGraph::on : CudaGraph::off;
}

AveragePlan resolve_average(const AverageConfig& config, Diagnostics& diagnostics) {
  AveragePlan average{};
  if (!config.use.value) {
    diagnostics.add(config.use.place, "train.average.use is missing; expected \"ema\" or \"swa\"");
    return average;
  }
  const bool is_ema = *config.use.value == "ema";
  average.kind = is_ema ? AveragePlan::Kind::ema : AveragePlan::Kind::swa;
  average.decay = config.decay.value_or(0.999);
  average.warm_up = config.warm_up.value_or(false);
  if (!is_ema && average.warm_up) {
    diagnostics.add(
        config.warm_up.place,
        "train.average.warm_up is true, but use = \"swa\" has no decay; set use = \"ema\", or remove warm_up");
  }
  if (!is_ema && config.decay.value) {
    diagnostics.add(config.decay.place, "train.average.decay is " + to_toml(*config.decay.value) +
                                            ", but use = \"swa\" gives all weights the same share; "
                                            "set use = \"ema\", or remove decay");
  }
  average.start = config.start.value_or(Period{});
  average.every = config.every.value_or({is_ema ? Period::Unit::steps : Period::Unit::epochs, 1});
  // The averaged weights must not depend on how long a step takes.
  if (config.start.value && !counts_steps(average.start)) {
    diagnostics.add(config.start.place, "train.average.start is " + to_toml(to_string(average.start)) +
                                            "; expected steps or epochs, such as \"5 epochs\"");
  }
  if (!counts_steps(average.every)) {
    diagnostics.add(config.every.place, "train.average.every is " + to_toml(to_string(average.every)) +
                                            "; expected steps or epochs, such as \"1 step\"");
  }
  return average;
}

// The fastest algorithm may differ from run to run, and with it the last bits of the results.
CudnnBenchmark resolve_cudnn_benchmark(const Setting<std::string>& setting, Determinism deterministic,
                                       Diagnostics& diagnostics) {
  const std::string requested = setting.value_or("auto");
  if (requested == "auto") return CudnnBenchmark::automatic;
  if (requested == "false") return CudnnBenchmark::off;
  if (deterministic != Determinism::off) {
    diagnostics.add(
        setting.place,
        "train.cudnn_benchmark is true with run.deterministic, but the selected algorithms may differ from run to "
        "run; set train.cudnn_benchmark to \"auto\" or false, or remove it");
  }
  return CudnnBenchmark::on;
}

}  // namespace

std::string to_string(CudaGraph setting) {
  switch (setting) {
    case CudaGraph::automatic: return "auto";
    case CudaGraph::off: return "off";
    default: return "on";
  }
}

std::string to_string(MemoryFormat format) {
  switch (format) {
    case MemoryFormat::automatic: return "auto";
    case MemoryFormat::channels_last: return "channels_last";
    default: return "contiguous";
  }
}

std::string to_string(Precision precision) {
  switch (precision) {
    case Precision::fp32: return "fp32";
    case Precision::tf32: return "tf32";
    case Precision::bf16: return "bf16";
    case Precision::fp16: return "fp16";
    case Precision::bf16_true: return "bf16_true";
  }
  return "unknown";
}

TrainSection resolve_train(const TrainConfig& config, Determinism deterministic, Diagnostics& diagnostics) {
  if (config.epochs.value && config.steps.value) {
    diagnostics.add(std::max(config.epochs.place, config.steps.place),
                    "train.epochs and train.steps are both set; expected one of them");
  } else if (!config.epochs.value && !config.steps.value) {
    diagnostics.add(config.epochs.place, "train.epochs is missing; expected epochs or steps, such as epochs = 10");
  }
  TrainSection train;
  train.epochs = config.epochs.value_or(0);
  train.steps = config.steps.value_or(0);
  train.place = to_string(config.epochs.value ? config.epochs.place : config.steps.place);
  train.accumulate = config.accumulate.value_or(1);
  train.precision = to_precision(config.precision.value_or("fp32"));
  train.precision_place = to_string(config.precision.place);
  train.clip_norm = config.clip_norm.value_or(0);
  train.clip_value = config.clip_value.value_or(0);
  train.non_finite = config.non_finite.value_or("stop") == "skip" ? NonFinite::skip : NonFinite::stop;
  train.max_skipped_steps = config.max_skipped_steps.value_or(10);
  train.memory_format = to_memory_format(config.memory_format.value_or("auto"));
  train.cuda_graph = to_cuda_graph(config.cuda_graph.value_or("auto"));
  train.cudnn_benchmark = resolve_cudnn_benchmark(config.cudnn_benchmark, deterministic, diagnostics);
  train.cudnn_attention = config.cudnn_attention.value_or(true);
  train.activation_checkpointing = config.activation_checkpointing.value_or(false);
  if (config.average) train.average = resolve_average(*config.average, diagnostics);
  // An average of bfloat16 numbers loses changes of less than 0.4 %, and so does not follow the weights.
  if (config.average && train.precision == Precision::bf16_true) {
    diagnostics.add(config.average->use.place,
                    "train.average is set with train.precision = \"bf16_true\", where the average is too coarse to "
                    "follow the weights; set train.precision = \"bf16\", which keeps it in float32, or remove "
                    "[train.average]");
  }
  return train;
}

}  // namespace tenon::config
