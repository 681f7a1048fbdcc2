// Errors of a device, on the simulated one: memory that runs out, and a device that fails in the middle of a run.
#include <torch/types.h>

#include <string>

#include "framework/optimization/evaluation_weights.h"
#include "framework/pipeline/device/device_error.h"
#include "framework/support/diagnostics/error.h"
#include "tests/cuda/simulated_device.h"
#include "tests/cuda/tested_device.h"
#include "tests/doctest_with_torch.h"
#include "tests/messages.h"
#include "tests/pipeline/trained_run.h"

namespace tenon::pipeline {
namespace {

// A run that validates and saves with averaged weights, and recomputes activations.
Setup everything() {
  Setup setup{{"model={use=\"segmented\"}", "optimizer={use=\"lion\",lr=0.001}", "data.batch_size=100",
               "train={steps=4,activation_checkpointing=true,average={use=\"ema\"}}", "validation.every=\"1 step\"",
               "checkpoint.every=\"1 step\"", "log.every=\"2 steps\""}};
  setup.device = tests::tested_device().value();
  return setup;
}

enum class Ended { finished, out_of_memory, device_failed };

Ended train(BuiltRun& run) {
  try {
    run.train();
    return Ended::finished;
  } catch (const std::exception& error) {
    if (is_device_error(error)) return Ended::device_failed;
    CHECK_MESSAGE(std::string(error.what()).find("out of memory") != std::string::npos, error.what());
    return Ended::out_of_memory;
  }
}

int64_t peak_of_run() {
  auto* const allocator = c10::getDeviceAllocator(c10::kCUDA);
  allocator->resetPeakStats(0);
  BuiltRun run(everything());
  REQUIRE(train(run) == Ended::finished);
  return allocator->getDeviceStats(0).allocated_bytes[0].peak;
}

}  // namespace

TEST_CASE("wherever the device's memory runs out, the run ends with that error") {
  const int64_t peak = peak_of_run();
  int64_t failed = 0;
  for (int64_t twentieth = 1; twentieth <= 21; ++twentieth) {
    BuiltRun run(everything());
    simulated::limit_memory(peak * twentieth / 20);
    failed += train(run) == Ended::out_of_memory;
    simulated::limit_memory(0);
  }
  CHECK(failed > 5);
  CHECK(failed < 21);
}

TEST_CASE("swapping averaged weights in and out needs no memory of the device") {
  std::vector<optimization::NamedTensor> tensors;
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16, at::kLong, at::kBool})
    tensors.push_back({c10::toString(dtype), at::full({3, 2}, 5, at::TensorOptions(at::kCUDA).dtype(dtype))});
  optimization::WeightAverage average({config::AveragePlan::Kind::ema, 0.5, false, {}, {}}, tensors);
  average.update();
  for (const optimization::NamedTensor& named : tensors) at::Tensor(named.tensor).fill_(0);
  tensors[0].tensor.fill_(std::numeric_limits<float>::quiet_NaN());
  simulated::limit_memory(1);
  {
    optimization::WeightAverage::InPlace averaged(&average);
    simulated::limit_memory(0);
    for (const optimization::NamedTensor& named : tensors)
      CHECK(named.tensor.eq(named.tensor.scalar_type() == at::kBool ? 1 : 5).all().item<bool>());
    simulated::limit_memory(1);
  }
  simulated::limit_memory(0);
  CHECK(tensors[0].tensor.isnan().all().item<bool>());
  for (size_t i = 1; i < tensors.size(); ++i) CHECK(tensors[i].tensor.eq(0).all().item<bool>());
}

TEST_CASE("wherever the device fails, the run ends with an error that names it") {
  const int64_t before = simulated::launches();
  {
    BuiltRun run(everything());
    REQUIRE(train(run) == Ended::finished);
  }
  const int64_t calls = simulated::launches() - before;
  for (int64_t part = 1; part < 40; ++part) {
    BuiltRun run(everything());
    simulated::fail_after(calls * part / 40);
    CAPTURE(part);
    const Ended ended = train(run);
    simulated::fail_after(0);
    // The last calls of a run that builds its tensors first may not be reached.
    if (part < 30) CHECK(ended == Ended::device_failed);
  }
}

TEST_CASE("an error of the device is explained with its step") {
  BuiltRun run({{"train={steps=20}"}, "", tests::tested_device().value()});
  simulated::fail_after(300);
  const std::string message = find_error(support::ErrorKind::device, [&] { run.train(); });
  simulated::fail_after(0);
  CHECK_MESSAGE(message.find("the device failed in step ") == 0, message);
  CHECK_MESSAGE(message.find("device-side assert triggered; a kernel read out of range") != std::string::npos, message);
  CHECK(run.recorder.checkpoints.empty());
}

TEST_CASE("errors of CUDA's libraries are errors of the device, and memory that runs out is not") {
  CHECK(is_device_error(support::Error(support::ErrorKind::plugin, "CUDA error: CUBLAS_STATUS_EXECUTION_FAILED")));
  CHECK(is_device_error(std::runtime_error("NCCL error in: NCCLUtils.cpp:77, unhandled system error")));
  CHECK_FALSE(is_device_error(std::runtime_error("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate")));
  CHECK_FALSE(is_device_error(support::Error(support::ErrorKind::plugin, "CUDA out of memory")));
  CHECK_FALSE(is_device_error(support::Error(support::ErrorKind::data, "a file named CUDA error: .png")));
}

}  // namespace tenon::pipeline
