#include "framework/config/resolve/resolve_train.h"

#include <algorithm>

#include "framework/config/toml/value.h"

namespace tenon::config {
namespace {

// The averaged weights must not depend on how long a step takes.
void check_counts_steps(const Period& period, const std::string& key, const char* example, const Resolving& resolving) {
  const FoundKey& found = resolving.config.key(key);
  const bool counts_steps = period.unit == Period::Unit::steps || period.unit == Period::Unit::epochs;
  if (found.is_set && !counts_steps)
    resolving.diagnostics.add(found.place, key + " is " + to_toml(to_string(period)) +
                                               "; expected steps or epochs, such as \"" + example + "\"");
}

void resolve_average(AveragePlan& average, const Resolving& resolving) {
  const RunConfig& config = resolving.config;
  Diagnostics& diagnostics = resolving.diagnostics;
  if (!config.key("train.average.use").is_set) {
    diagnostics.add(config.place_of("train.average.use"), "train.average.use is missing; expected \"ema\" or \"swa\"");
    return;
  }
  if (average.kind == AveragePlan::Kind::swa) {
    if (!config.key("train.average.every").is_set) average.every = {Period::Unit::epochs, 1};
    if (average.warm_up)
      diagnostics.add(
          config.place_of("train.average.warm_up"),
          "train.average.warm_up is true, but use = \"swa\" has no decay; set use = \"ema\", or remove warm_up");
    if (config.key("train.average.decay").is_set)
      diagnostics.add(config.place_of("train.average.decay"),
                      "train.average.decay is " + to_toml(average.decay) +
                          ", but use = \"swa\" gives all weights the same share; set use = \"ema\", or remove decay");
  }
  check_counts_steps(average.start, "train.average.start", "5 epochs", resolving);
  check_counts_steps(average.every, "train.average.every", "1 step", resolving);
}

}  // namespace

void resolve_train(RunPlan& plan, const Resolving& resolving) {
  const RunConfig& config = resolving.config;
  Diagnostics& diagnostics = resolving.diagnostics;
  TrainSection& train = plan.train;
  const FoundKey &epochs = config.key("train.epochs"), &steps = config.key("train.steps");
  if (epochs.is_set && steps.is_set)
    diagnostics.add(std::max(epochs.place, steps.place),
                    "train.epochs and train.steps are both set; expected one of them");
  else if (!epochs.is_set && !steps.is_set)
    diagnostics.add(epochs.place, "train.epochs is missing; expected epochs or steps, such as epochs = 10");
  train.place = to_string(epochs.is_set ? epochs.place : steps.place);
  train.precision_place = to_string(config.place_of("train.precision"));
  // The fastest algorithm may differ from run to run, and with it the last bits of the results.
  if (train.cudnn_benchmark == CudnnBenchmark::on && plan.run.deterministic != Determinism::off)
    diagnostics.add(
        config.place_of("train.cudnn_benchmark"),
        "train.cudnn_benchmark is true with run.deterministic, but the selected algorithms may differ from run to "
        "run; set train.cudnn_benchmark to \"auto\" or false, or remove it");
  if (!train.average) return;
  resolve_average(*train.average, resolving);
  // An average of bfloat16 numbers loses changes of less than 0.4 %, and so does not follow the weights.
  if (train.precision == Precision::bf16_true)
    diagnostics.add(config.place_of("train.average.use"),
                    "train.average is set with train.precision = \"bf16_true\", where the average is too coarse to "
                    "follow the weights; set train.precision = \"bf16\", which keeps it in float32, or remove "
                    "[train.average]");
}

}  // namespace tenon::config
