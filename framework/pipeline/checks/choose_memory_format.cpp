#include "framework/pipeline/checks/choose_memory_format.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/types.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <string>

#include "framework/pipeline/build/compute_losses.h"
#include "framework/pipeline/build/first_batch.h"
#include "framework/pipeline/device/keep_random_state.h"
#include "framework/support/log.h"

namespace tenon::pipeline {

using config::MemoryFormat;

namespace {

constexpr int kRounds = 4;           // the first one is a warm-up
constexpr double kLongEnough = 2.0;  // seconds per batch above which one more round is enough

bool has_images(const Training& training) {
  return std::ranges::any_of(training.model.tensors(), [](const auto& named) { return named.tensor.dim() == 4; });
}

// Afterwards the average of the weights refers to the old memory, so set_memory_format() must follow.
void lay_out(Training& training, MemoryFormat format) {
  const bool is_last = format == MemoryFormat::channels_last;
  for (const plugins::NamedTensor& named : training.model.tensors()) {
    if (named.tensor.dim() != 4) continue;
    at::Tensor tensor = named.tensor;
    tensor.set_data(
        tensor.detach().contiguous(is_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous));
  }
  training.memory_format = format;
}

void wait_for(const c10::Device& device) {
  if (!device.is_cpu()) c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
}

// Returns seconds. Uses evaluation mode, in which components change nothing but gradients.
double time_batch(Training& training, const data::Batch& batch) {
  plugins::StepContext context;
  context.seed = training.plan->run.seed;
  context.checkpoints_activations =
      training.plan->train.activation_checkpointing;  // without it the batch may not fit into memory
  BoundDataset& data = *training.train;
  wait_for(training.device);
  const auto begin = std::chrono::steady_clock::now();
  BatchTensors batch_tensors = data.to_batch_tensors(batch, /*training=*/false);
  run_model(training, data, batch_tensors, context);
  at::Tensor total;
  for (const plugins::Loss::Result& result : compute_losses(training, data, batch_tensors, context))
    total = total.defined() ? total + result.loss : result.loss;
  if (total.requires_grad()) total.backward();
  wait_for(training.device);
  training.optimizer->zero_grad();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string describe(const FormatTimes& times) {
  char text[128];
  std::snprintf(text, sizeof text, "%.3g ms per batch (forward and backward), contiguous %.3g ms",
                times.channels_last * 1e3, times.contiguous * 1e3);
  return text;
}

MemoryFormat choose(Training& training) {
  if (!has_images(training)) return MemoryFormat::contiguous;
  if (training.plan->run.deterministic != config::Determinism::off) {
    support::log_info("memory format: contiguous, because the run is deterministic and timings vary");
    return MemoryFormat::contiguous;
  }
  const std::optional<FormatTimes> times = time_memory_formats(training);
  if (!times) return MemoryFormat::contiguous;
  const MemoryFormat chosen = times->favour_channels_last() ? MemoryFormat::channels_last : MemoryFormat::contiguous;
  support::log_info("memory format: " + to_string(chosen) + "; channels_last takes " + describe(*times));
  return chosen;
}

}  // namespace

std::optional<FormatTimes> time_memory_formats(Training& training) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const KeepRandomState keep(c10::kCPU);  // a model may use either generator
  const KeepRandomState keep_on_device(training.device);
  const MemoryFormat before = training.memory_format;
  const data::Batch* const batch = find_first_batch(training);
  if (!batch) return std::nullopt;
  FormatTimes least{kNone, kNone};
  for (int round = 0; round < kRounds; ++round) {
    if (round > 1 && least.contiguous > kLongEnough) break;
    FormatTimes times{};
    lay_out(training, MemoryFormat::contiguous);
    times.contiguous = time_batch(training, *batch);
    lay_out(training, MemoryFormat::channels_last);
    times.channels_last = time_batch(training, *batch);
    if (round == 0) continue;
    least = {std::min(least.contiguous, times.contiguous), std::min(least.channels_last, times.channels_last)};
  }
  set_memory_format(training, before);
  return least;
}

void set_memory_format(Training& training, MemoryFormat format) {
  lay_out(training, format);
  training.average = make_average(*training.plan, training.model);
}

void choose_memory_format(Training& training) {
  if (training.plan->train.memory_format != MemoryFormat::automatic) return;
  MemoryFormat chosen = choose(training);
  if (training.group)
    chosen = training.group->broadcast_string("the memory format", to_string(chosen)) ==
                     to_string(MemoryFormat::channels_last)
                 ? MemoryFormat::channels_last
                 : MemoryFormat::contiguous;
  if (chosen != training.memory_format) set_memory_format(training, chosen);
}

}  // namespace tenon::pipeline
