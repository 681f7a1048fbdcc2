#include "framework/components/tensors/host_extensions.h"

#include <tenon/plugin.hpp>

#include "framework/components/calls/guard.h"
#include "framework/components/calls/host_table.h"
#include "framework/components/tensors/frame.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/components/tensors/tensor_handles.h"
#include "tests/doctest_with_torch.h"

namespace device_stream_test {

using namespace tenon::components;

namespace {

const tenon_device_stream& extension() {
  install_libtorch();
  tenon::detail::host = &host_table();
  const void* found = host_table().get_extension(to_tenon(TENON_DEVICE_STREAM));
  REQUIRE(found != nullptr);
  return *static_cast<const tenon_device_stream*>(found);
}

tenon_stream sized_stream() {
  tenon_stream stream = {};
  stream.size = sizeof stream;
  stream.device_type = -1;
  stream.handle = &stream;
  return stream;
}

}  // namespace

TEST_CASE("a CPU tensor has no stream, and neither has a process without a device") {
  const at::Tensor tensor = torch::ones({2});
  for (const tenon_tensor* handle : {to_handle(tensor), static_cast<tenon_tensor*>(nullptr)}) {
    tenon_stream stream = sized_stream();
    CHECK(extension().current(handle, &stream) == TENON_OK);
    CHECK(stream.device_type == TENON_DEVICE_CPU);
    CHECK(stream.device_index == 0);
    CHECK(stream.handle == nullptr);
  }
}

TEST_CASE("current needs a result with its size") {
  tenon_stream stream = sized_stream();
  stream.size = offsetof(tenon_stream, handle);
  CHECK(extension().current(nullptr, &stream) == TENON_INVALID_ARGUMENT);
  CHECK(stream.device_type == -1);
  CHECK(extension().current(nullptr, nullptr) == TENON_INVALID_ARGUMENT);
}

TEST_CASE("a device without streams is refused") {
  tenon_stream stream = sized_stream();
  CHECK(extension().current(to_handle(torch::empty({2}, at::kMeta)), &stream) == TENON_UNSUPPORTED);
}

TEST_CASE("the address of a tensor's elements respects its offset, and a tensor that requires grad has one") {
  const at::Tensor tensor = torch::arange(6, torch::kFloat).requires_grad_(true);
  const at::Tensor row = tensor.view({2, 3})[1];
  void* elements = nullptr;
  CHECK(extension().data(to_handle(row), &elements) == TENON_OK);
  CHECK(elements == tensor.data_ptr<float>() + 3);
}

TEST_CASE("the address of a tensor that is not contiguous is refused, with a solution") {
  const at::Tensor transposed = torch::ones({2, 3}).t();
  void* elements = nullptr;
  CHECK(extension().data(to_handle(transposed), &elements) == TENON_UNSUPPORTED);
  CHECK(tenon::components::detail::failure.find("float32 [3, 2], is not contiguous") != std::string::npos);
  CHECK(tenon::components::detail::failure.find("call aten::contiguous first") != std::string::npos);
  CHECK(extension().data(nullptr, &elements) == TENON_INVALID_ARGUMENT);
}

TEST_CASE("in C++ the elements have a type") {
  extension();
  const at::Tensor tensor = torch::ones({2});
  const std::vector<tenon_tensor*> none;
  const Frame host_frame({}, none);
  const tenon::Frame frame(host_frame.get());
  const tenon::Tensor wrapped(to_handle(tensor), &frame);
  CHECK(tenon::device_data<float>(wrapped) == tensor.data_ptr<float>());
  CHECK_THROWS_WITH(tenon::device_data<double>(wrapped), "a tensor of float32 is read as float64");
  CHECK(tenon::current_stream(wrapped).is_cpu());
  CHECK(tenon::current_stream().is_cpu());
}

}  // namespace device_stream_test
