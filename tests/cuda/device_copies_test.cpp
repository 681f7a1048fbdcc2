// Copies from the device to the host: their results and the number of waits for the device.
#include <torch/types.h>

#include <limits>
#include <thread>

#include "framework/pipeline/checks/check_finite.h"
#include "framework/pipeline/device/field_copies.h"
#include "framework/pipeline/device/host_copies.h"
#include "framework/pipeline/tools/save_weights.h"
#include "tests/cuda/simulated_device.h"
#include "tests/cuda/tested_device.h"
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"
#include "tests/test_folder.h"

namespace tenon::pipeline {
namespace {

const c10::Device kCuda(c10::kCUDA, 0);

std::vector<components::NamedTensor> named(const std::vector<at::Tensor>& tensors) {
  std::vector<components::NamedTensor> list;
  for (const at::Tensor& tensor : tensors) list.push_back({"t" + std::to_string(list.size()), tensor, true});
  return list;
}

// Tensors of several dtypes and memory layouts.
std::vector<at::Tensor> tensors_on(const c10::Device& device) {
  return {at::arange(6, at::kFloat).reshape({2, 3}).to(device),
          at::arange(24, at::kHalf).reshape({1, 2, 3, 4}).to(device).contiguous(at::MemoryFormat::ChannelsLast),
          at::arange(4, at::kLong).to(device),
          at::arange(20, at::kDouble).reshape({4, 5}).to(device).t(),
          at::zeros({0}, at::TensorOptions(device)),
          at::arange(3, at::kBFloat16).to(device)};
}

}  // namespace

TEST_CASE("copies of any number of tensors need one wait, and their memory is reused") {
  const std::vector<at::Tensor> tensors = tensors_on(kCuda);
  HostCopies copies(/*shares=*/false);
  std::vector<at::Tensor> copied;
  const auto copy_all = [&] {
    copied.clear();
    for (size_t i = 0; i < tensors.size(); ++i) copied.push_back(copies.add(std::to_string(i), tensors[i]));
    copies.submit();
  };
  CHECK(tests::waits_of(copy_all) == 0);
  CHECK(tests::waits_of([&] { std::thread([&] { copies.wait(); }).join(); }) == 1);
  for (size_t i = 0; i < tensors.size(); ++i) {
    CAPTURE(i);
    CHECK(copied[i].is_contiguous());
    CHECK(torch::equal(copied[i], tensors[i].cpu()));
  }
  const void* const memory = copied[0].const_data_ptr();
  copy_all();
  copies.wait();
  CHECK(copied[0].const_data_ptr() == memory);
}

TEST_CASE("contiguous tensors in host memory are shared or copied") {
  const at::Tensor tensor = torch::ones({3}), transposed = torch::ones({2, 3}).t();
  HostCopies sharing(/*shares=*/true), copying(/*shares=*/false);
  CHECK(sharing.add("a", tensor).const_data_ptr() == tensor.const_data_ptr());
  CHECK(sharing.add("b", transposed).is_contiguous());
  CHECK(copying.add("a", tensor).const_data_ptr() != tensor.const_data_ptr());
}

TEST_CASE("all tensors are checked for NaN and infinity with one wait, and the first bad one is named") {
  for (const c10::Device& device : {kCuda, c10::Device(c10::kCPU)}) {
    CAPTURE(device.str());
    std::vector<CheckedTensor> tensors;
    for (const auto& one : named(tensors_on(device))) tensors.push_back({one.name, one.tensor});
    tensors.push_back({"on the CPU", at::ones({})});  // as the step counters of an optimizer
    CHECK(find_non_finite(tensors) == nullptr);
    if (device == kCuda) CHECK(tests::waits_of([&] { find_non_finite(tensors); }) == 1);
    tensors[5].tensor.select(0, 1).fill_(std::numeric_limits<double>::quiet_NaN());
    CHECK(find_non_finite(tensors) == &tensors[5]);
    tensors[3].tensor.select(0, 2).select(0, 1).fill_(-std::numeric_limits<double>::infinity());
    CHECK(find_non_finite(tensors) == &tensors[3]);
    tensors[3].may_be_infinite = tensors[5].may_be_infinite = true;
    CHECK(find_non_finite(tensors) == &tensors[5]);
  }
}

TEST_CASE("weights of a device are saved with one wait") {
  const auto tensors = named(tensors_on(kCuda));
  CHECK(tests::waits_of([&] { save_weights(test_folder() / "w.safetensors", tensors, at::ScalarType::Undefined); }) ==
        1);
}

TEST_CASE("fields are copied on another stream than the one that computes, without a wait") {
  FieldCopies copies(kCuda);
  const at::Tensor image = at::arange(40000, at::kFloat), label = at::arange(7, at::kLong);
  std::vector<at::Tensor> fields{image.clone(), label.clone(), image};
  const int64_t before = simulated::overlapped_copies();
  CHECK(tests::waits_of([&] { copies.copy(fields, {true, true, false}); }) == 0);
  CHECK(simulated::overlapped_copies() == before + 2);
  CHECK(torch::equal(fields[0].cpu(), image));
  CHECK(torch::equal(fields[1].cpu(), label));
  CHECK(fields[2].is_same(image));
}

TEST_CASE("a run copies the fields that its model and losses read") {
  BuiltRun run({{"model={use=\"mlp\"}", "train={steps=4}"}, "", tests::tested_device().value()});
  CHECK(run.training->train->is_read == std::vector<bool>{true, true});
  const int64_t before = simulated::overlapped_copies();
  run.train();
  CHECK(simulated::overlapped_copies() >= before + 8);
}

TEST_CASE("a run of one step on a device reports the loss of its first batch") {
  BuiltRun run({{"train={steps=1}"}, "", tests::tested_device().value()});
  const RunReport report = run.train();
  REQUIRE(report.state.first_loss.has_value());
  CHECK(report.state.first_loss->found > 0);
}

}  // namespace tenon::pipeline
