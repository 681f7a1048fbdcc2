// The extension TENON_DEVICE_STREAM on a device, and the kernels of examples/cuda_loss, which are compared with the
// plugin's C++ on the CPU.
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/types.h>

#include "framework/components/calls/guard.h"
#include "framework/components/tensors/host_extensions.h"
#include "framework/components/tensors/tensor_handles.h"
#include "tests/cuda/tested_device.h"
#include "tests/doctest_with_torch.h"
#include "tests/examples/opened_cuda_loss.h"

namespace tenon::components {
namespace {

using examples::ComputedLoss;

const c10::Device kCuda(c10::kCUDA, 0);

struct Found {
  tenon_status status;
  tenon_stream stream;
};

Found find_stream(const at::Tensor& tensor) {
  Found found{};
  found.stream.size = sizeof found.stream;
  found.status = device_stream_extension().current(to_handle(tensor), &found.stream);
  return found;
}

// False without a device. The simulated device has no streams.
bool has_device() {
  const auto device = tests::tested_device();
  if (!device) MESSAGE("skipped, no CUDA device: " << tests::no_device());
  return device.has_value();
}

bool is_simulated() { return tests::tested_device()->name == "a simulated device"; }

bool can_run_kernels() {
  if (!has_device() || is_simulated()) return false;
  if (tests::tested_device()->name == "stand-in for CUDA") {
    MESSAGE("skipped: no kernels");
    return false;
  }
  const bool is_built = std::filesystem::exists(examples::cuda_loss_file());
  if (!is_built) MESSAGE("skipped, no plugin with kernels: nvcc was missing when " << examples::cuda_loss_file());
  return is_built;
}

void check_alike(const ComputedLoss& on_device, const ComputedLoss& on_cpu) {
  const double tolerance = on_cpu.loss.scalar_type() == at::kDouble ? 1e-12 : 2e-6;
  CHECK(on_device.loss.device() == kCuda);
  CHECK(on_device.gradient.device() == kCuda);
  CHECK(on_device.loss.item<double>() == doctest::Approx(on_cpu.loss.item<double>()).epsilon(tolerance));
  CHECK(on_device.weight.item<int64_t>() == on_cpu.weight.item<int64_t>());
  CHECK(torch::allclose(on_device.gradient.cpu(), on_cpu.gradient, tolerance, tolerance));
}

}  // namespace

TEST_CASE("the stream of a tensor is the current stream of its device, and a CPU tensor has none") {
  const Found on_cpu = find_stream(torch::ones({2}));
  CHECK(on_cpu.status == TENON_OK);
  CHECK(on_cpu.stream.device_type == TENON_DEVICE_CPU);
  CHECK(on_cpu.stream.handle == nullptr);
  if (!has_device()) return;
  const at::Tensor tensor = torch::ones({2}, kCuda);
  if (is_simulated()) {
    CHECK(find_stream(tensor).status == TENON_UNSUPPORTED);
    CHECK_MESSAGE(detail::failure.find("stream native handle") != std::string::npos, detail::failure);
    return;
  }
  const c10::impl::VirtualGuardImpl cuda(c10::kCUDA);
  const Found before = find_stream(tensor);
  CHECK(before.status == TENON_OK);
  CHECK(before.stream.device_type == TENON_DEVICE_CUDA);
  CHECK(before.stream.device_index == 0);
  CHECK(before.stream.handle == cuda.getStreamNativeHandle(cuda.getStream(kCuda)));
  const c10::Stream other = cuda.getStreamFromGlobalPool(kCuda);
  const c10::StreamGuard guard(other);
  CHECK(find_stream(tensor).stream.handle == cuda.getStreamNativeHandle(other));
  CHECK(find_stream(tensor).stream.handle != before.stream.handle);
  // Without a tensor, the current device of the thread.
  CHECK(find_stream({}).stream.device_type == TENON_DEVICE_CUDA);
  CHECK(find_stream({}).stream.handle == cuda.getStreamNativeHandle(other));
}

TEST_CASE("the address of a tensor's elements is that on its device") {
  if (!has_device()) return;
  const at::Tensor tensor = torch::ones({4, 3}, kCuda);
  void* elements = nullptr;
  CHECK(device_stream_extension().data(to_handle(tensor), &elements) == TENON_OK);
  CHECK(elements == tensor.data_ptr());
  CHECK(device_stream_extension().data(to_handle(tensor.t()), &elements) == TENON_UNSUPPORTED);
}

TEST_CASE("kernels of a plugin compute the same loss and gradient as on the CPU, and do not synchronise") {
  if (!can_run_kernels()) return;
  torch::manual_seed(1);
  const Loss loss = examples::open_cuda_loss();
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    for (const int64_t rows : {0, 1, 7, 8, 9, 1000}) {
      for (const int64_t classes : {1, 10, 31, 32, 33, 5000}) {
        CAPTURE(rows);
        CAPTURE(classes);
        const at::Tensor logits = torch::randn({rows, classes}, at::TensorOptions(dtype)) * 8;
        const at::Tensor target = torch::randint(classes, {rows}, torch::kLong);
        if (rows > 1) target[1] = -100;
        const at::Tensor logits_on_device = logits.to(kCuda), target_on_device = target.to(kCuda);
        const int64_t waits = tests::device_waits();
        const ComputedLoss on_device = examples::compute(loss, logits_on_device, target_on_device);
        CHECK(tests::device_waits() == waits);
        check_alike(on_device, examples::compute(loss, logits, target));
      }
    }
  }
}

TEST_CASE("kernels of a plugin repeat bit for bit") {
  if (!can_run_kernels()) return;
  torch::manual_seed(2);
  const Loss loss = examples::open_cuda_loss();
  const at::Tensor logits = torch::randn({500, 700}, kCuda), target = torch::randint(700, {500}, kCuda).to(at::kLong);
  const ComputedLoss first = examples::compute(loss, logits, target);
  const ComputedLoss second = examples::compute(loss, logits, target);
  CHECK(torch::equal(first.loss, second.loss));
  CHECK(torch::equal(first.gradient, second.gradient));
}

TEST_CASE("kernels of a plugin run in the order of the current stream") {
  if (!can_run_kernels()) return;
  torch::manual_seed(3);
  const Loss loss = examples::open_cuda_loss();
  const at::Tensor weight = torch::randn({1024, 1024}) / 32, target = torch::randint(1024, {1024}, torch::kLong);
  const at::Tensor target_on_device = target.to(kCuda), weight_on_device = weight.to(kCuda);
  const c10::impl::VirtualGuardImpl cuda(c10::kCUDA);
  cuda.synchronizeDevice(kCuda.index());
  // The logits are the result of operators that take much longer than a launch. On another stream, the kernel would
  // read them too early.
  const c10::StreamGuard guard(cuda.getStreamFromGlobalPool(kCuda));
  at::Tensor logits = weight_on_device;
  for (int i = 0; i < 50; ++i) logits = torch::mm(logits, weight_on_device);
  const ComputedLoss on_device = examples::compute(loss, logits, target_on_device);
  check_alike(on_device, examples::compute(loss, logits.cpu(), target));
}

}  // namespace tenon::components
