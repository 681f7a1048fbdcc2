#include "framework/pipeline/build/memory_format.h"

#include <ATen/Context.h>
#include <torch/types.h>

#include "framework/pipeline/loop/checkpointed_run.h"
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;
using tenon::config::MemoryFormat;
using tenon::config::Precision;

namespace {

Setup cnn_in_format(const std::string& format) {
  return {{"model={use=\"small_cnn\",params={width=8}}", "train={steps=4,memory_format=\"" + format + "\"}",
           "train.average={use=\"ema\",decay=0.5}", "checkpoint.every=\"2 steps\""}};
}

bool is_channels_last(const Training& training) {
  bool all = true;
  for (const auto& named : training.model.tensors())
    if (named.tensor.dim() == 4 && named.tensor.size(1) > 1)
      all = all && named.tensor.is_contiguous(at::MemoryFormat::ChannelsLast);
  return all;
}

MemoryFormat choose(MemoryFormat requested, const at::Tensor& weight, c10::DeviceType device, Precision precision,
                    bool needs_contiguous = false) {
  tenon::config::TrainSection plan{};
  plan.memory_format = requested;
  plan.precision = precision;
  return choose_memory_format(plan, {{"weight", weight, true}}, needs_contiguous, c10::Device(device, 0));
}

}  // namespace

TEST_CASE("models with 2-d convolutions use channels_last on the CPU, and on CUDA in 16 bits") {
  const at::Tensor convolution = torch::zeros({8, 3, 3, 3}), matrix = torch::zeros({8, 3});
  const auto automatic = MemoryFormat::automatic;
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::bf16_true})
    CHECK(choose(automatic, convolution, c10::kCPU, precision) == MemoryFormat::channels_last);
  for (const Precision precision : {Precision::bf16, Precision::fp16, Precision::bf16_true})
    CHECK(choose(automatic, convolution, c10::kCUDA, precision) == MemoryFormat::channels_last);
  for (const Precision precision : {Precision::fp32, Precision::tf32})
    CHECK(choose(automatic, convolution, c10::kCUDA, precision) == MemoryFormat::contiguous);
  CHECK(choose(automatic, matrix, c10::kCPU, Precision::bf16) == MemoryFormat::contiguous);
  CHECK(choose(automatic, convolution, c10::kCPU, Precision::fp32, true) == MemoryFormat::contiguous);
  CHECK(choose(MemoryFormat::channels_last, convolution, c10::kCPU, Precision::fp32, true) ==
        MemoryFormat::channels_last);
  CHECK(choose(MemoryFormat::contiguous, convolution, c10::kCPU, Precision::fp32) == MemoryFormat::contiguous);
  CHECK(choose(MemoryFormat::channels_last, matrix, c10::kCUDA, Precision::fp32) == MemoryFormat::channels_last);
}

TEST_CASE("a run without memory_format has that of the rule, with the same bits") {
  BuiltRun open(cnn_in_format("auto")), contiguous(cnn_in_format("contiguous")), last(cnn_in_format("channels_last"));
  CHECK(open.train().memory_format == MemoryFormat::channels_last);
  CHECK(contiguous.train().memory_format == MemoryFormat::contiguous);
  CHECK(last.train().memory_format == MemoryFormat::channels_last);
  CHECK(is_channels_last(*open.training));
  CHECK(is_channels_last(*last.training));
  CHECK_FALSE(is_channels_last(*contiguous.training));
  check_same_weights(open, last);
}

TEST_CASE("a checkpoint has the memory format of its run") {
  for (const char* format : {"channels_last", "contiguous"}) {
    INFO(format);
    BuiltRun run(cnn_in_format(format));
    run.train();
    REQUIRE(!run.recorder.checkpoints.empty());
    CHECK(to_string(saved_memory_format(run.recorder.checkpoints.front().state)) == format);
  }
}

TEST_CASE("denormal numbers are zero if the run file sets flush_denormal") {
  const auto halve_smallest = [] { return at::full({4}, 1.2e-38, at::kFloat).mul(0.5).sum().item<float>(); };
  const BuiltRun flushing({{"run.flush_denormal=true"}});
  CHECK(halve_smallest() == 0);
  const BuiltRun exact({{"run.flush_denormal=false"}});
  CHECK(halve_smallest() > 0);
}
