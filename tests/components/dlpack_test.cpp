#include "framework/components/tensors/host_extensions.h"

#include <ATen/dlpack.h>

#include "framework/components/calls/guard.h"
#include "framework/components/calls/host_table.h"
#include "framework/components/tensors/frame.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/components/tensors/tensor_handles.h"
#include "tests/doctest_with_torch.h"

namespace dlpack_test {

using namespace tenon::components;

namespace {

const tenon_dlpack& extension() {
  install_libtorch();
  const void* found = host_table().get_extension(to_tenon(TENON_DLPACK));
  REQUIRE(found != nullptr);
  return *static_cast<const tenon_dlpack*>(found);
}

DLManagedTensorVersioned* give(const at::Tensor& tensor) {
  void* managed = nullptr;
  REQUIRE(extension().give(to_handle(tensor), &managed) == TENON_OK);
  return static_cast<DLManagedTensorVersioned*>(managed);
}

}  // namespace

TEST_CASE("DLPack exports a tensor's memory, strides and dtype without a copy") {
  const at::Tensor tensor = torch::arange(12, torch::kFloat).reshape({3, 4}).t();
  DLManagedTensorVersioned* managed = give(tensor);
  CHECK(managed->dl_tensor.data == tensor.data_ptr());
  CHECK(managed->dl_tensor.ndim == 2);
  CHECK(managed->dl_tensor.shape[0] == 4);
  CHECK(managed->dl_tensor.strides[0] == 1);
  CHECK(managed->dl_tensor.dtype.bits == 32);
  CHECK(managed->dl_tensor.device.device_type == kDLCPU);
  managed->deleter(managed);
}

TEST_CASE("a tensor imported from DLPack belongs to the frame, shares the memory and keeps its owner alive") {
  at::Tensor tensor = torch::arange(6, torch::kLong);
  const std::vector<int64_t> elements(tensor.data_ptr<int64_t>(), tensor.data_ptr<int64_t>() + 6);
  void* const memory = tensor.data_ptr();
  DLManagedTensorVersioned* managed = give(tensor);
  const std::vector<tenon_tensor*> none;
  at::Tensor back;
  {
    Frame frame({}, none);
    tenon_tensor* handle = nullptr;
    REQUIRE(extension().take(frame.get(), managed, &handle) == TENON_OK);
    back = to_tensor(handle);
  }
  tensor.reset();
  CHECK(back.data_ptr() == memory);
  CHECK(torch::equal(back, torch::arange(6, torch::kLong)));
}

TEST_CASE("a tensor that requires grad is refused, with a solution") {
  const at::Tensor weight = torch::ones({2}).requires_grad_(true);
  void* managed = nullptr;
  CHECK(extension().give(to_handle(weight), &managed) == TENON_UNSUPPORTED);
  CHECK(tenon::components::detail::failure.find("float32 [2], takes part in autograd") != std::string::npos);
  CHECK(tenon::components::detail::failure.find("detach it first") != std::string::npos);
}

TEST_CASE("a tensor of another major version of DLPack is refused and still belongs to the caller") {
  DLManagedTensorVersioned* managed = give(torch::ones({2}));
  managed->version.major += 1;
  const std::vector<tenon_tensor*> none;
  Frame frame({}, none);
  tenon_tensor* handle = nullptr;
  CHECK(extension().take(frame.get(), managed, &handle) == TENON_UNSUPPORTED);
  CHECK(tenon::components::detail::failure.find("expected 1") != std::string::npos);
  managed->deleter(managed);
}

}  // namespace dlpack_test
