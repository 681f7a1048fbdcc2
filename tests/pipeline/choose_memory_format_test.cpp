#include "framework/pipeline/checks/choose_memory_format.h"

#include <ATen/Context.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;
using tenon::config::MemoryFormat;

namespace {

Setup cnn_with(const std::string& format, const std::string& more = "run.seed=0") {
  return {{"model={use=\"small_cnn\",params={width=8}}", "train={steps=4,memory_format=\"" + format + "\"}",
           "train.average={use=\"ema\",decay=0.5}", "checkpoint.every=\"2 steps\"", more}};
}

bool is_channels_last(const Training& training) {
  bool all = true;
  for (const auto& named : training.model.tensors())
    if (named.tensor.dim() == 4 && named.tensor.size(1) > 1)
      all = all && named.tensor.is_contiguous(at::MemoryFormat::ChannelsLast);
  return all;
}

void check_same_weights(const BuiltRun& run, const BuiltRun& other) {
  REQUIRE(!run.recorder.weights.empty());
  for (const auto& [key, tensor] : run.recorder.weights) {
    const std::string& name = key;
    INFO(name);
    CHECK(torch::equal(tensor, other.recorder.weights.at(name)));
  }
}

}  // namespace

TEST_CASE("channels_last must be faster by more than a margin") {
  CHECK(FormatTimes{1.0, 0.9}.favour_channels_last());
  CHECK_FALSE(FormatTimes{1.0, 0.97}.favour_channels_last());
  CHECK_FALSE(FormatTimes{1.0, 1.5}.favour_channels_last());
}

TEST_CASE("timing the memory formats restores weights, gradients and random state") {
  BuiltRun run(cnn_with("auto"));
  Training& training = *run.training;
  std::map<std::string, at::Tensor> before;
  for (const auto& named : training.model.tensors()) before[named.name] = named.tensor.detach().clone();
  const at::Generator generator = at::globalContext().defaultGenerator(c10::kCPU);
  const at::Tensor random = generator.get_state().clone();

  const auto times = time_memory_formats(training);
  REQUIRE(times.has_value());
  CHECK(times->contiguous > 0);
  CHECK(times->channels_last > 0);
  CHECK(training.memory_format == MemoryFormat::contiguous);
  CHECK(torch::equal(generator.get_state(), random));
  for (const auto& named : training.model.tensors()) {
    INFO(named.name);
    CHECK(torch::equal(named.tensor, before.at(named.name)));
    CHECK(named.tensor.is_contiguous());
    CHECK_FALSE(named.tensor.grad().defined());
  }

  // The average follows the weights in their current memory.
  const torch::NoGradGuard no_grad;
  std::map<std::string, at::Tensor> changed;
  for (const auto& named : training.model.tensors()) {
    at::Tensor tensor = named.tensor;
    if (tensor.is_floating_point()) tensor.add_(1);
    changed[named.name] = tensor.detach().clone();
  }
  training.average->update();
  for (const auto& one : training.average->put_by()) {
    INFO(one.name);
    CHECK(torch::equal(one.tensor, changed.at(one.name)));
  }
}

TEST_CASE("the chosen format applies to all weights and changes results only by rounding") {
  BuiltRun open(cnn_with("auto")), contiguous(cnn_with("contiguous")), last(cnn_with("channels_last"));
  const RunReport report = open.train();
  contiguous.train();
  CHECK(last.train().memory_format == MemoryFormat::channels_last);
  CHECK(is_channels_last(*last.training));
  CHECK(is_channels_last(*open.training) == (report.memory_format == MemoryFormat::channels_last));
  check_same_weights(open, report.memory_format == MemoryFormat::channels_last ? last : contiguous);
}

TEST_CASE("a resumed run keeps the format chosen before") {
  for (const char* format : {"channels_last", "contiguous"}) {
    INFO(format);
    BuiltRun whole(cnn_with(format)), resumed(cnn_with("auto"));
    whole.train();
    REQUIRE(whole.recorder.checkpoints.size() == 2);
    const RunReport report = resumed.train({}, 0, &whole.recorder.checkpoints.front());
    CHECK(to_string(report.memory_format) == format);
    check_same_weights(whole, resumed);
  }
}

TEST_CASE("the format does not depend on timings if the run is deterministic or has no images") {
  BuiltRun deterministic(cnn_with("auto", "run.deterministic=true")), contiguous(cnn_with("contiguous"));
  CHECK(deterministic.train().memory_format == MemoryFormat::contiguous);
  contiguous.train();
  check_same_weights(deterministic, contiguous);
  at::globalContext().setDeterministicAlgorithms(false, false);

  BuiltRun flat({{"train={steps=1,memory_format=\"auto\"}"}});
  CHECK(flat.train().memory_format == MemoryFormat::contiguous);
}

TEST_CASE("denormal numbers are zero if the run file sets flush_denormal") {
  const auto halve_smallest = [] { return at::full({4}, 1.2e-38, at::kFloat).mul(0.5).sum().item<float>(); };
  const BuiltRun flushing({{"run.flush_denormal=true"}});
  CHECK(halve_smallest() == 0);
  const BuiltRun exact({{"run.flush_denormal=false"}});
  CHECK(halve_smallest() > 0);
}
