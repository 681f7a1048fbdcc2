#include "framework/components/tensors/host_extensions.h"

#include <thread>

#include "framework/components/calls/guard.h"
#include "framework/components/calls/host_table.h"
#include "framework/components/tensors/frame.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/components/tensors/tensor_handles.h"
#include "tests/doctest_with_torch.h"

using namespace tenon::components;

namespace {

const std::vector<tenon_tensor*> kNoTensors;

const tenon_op* find(const char* name, const char* overload) {
  const tenon_op* op = nullptr;
  REQUIRE(find_operator(to_tenon(name), to_tenon(overload), &op) == TENON_OK);
  return op;
}

struct Call {
  tenon_status status;
  at::Tensor result;
  std::string failure;
};

Call call(const char* name, const char* overload, const std::vector<tenon_value>& args,
          const std::vector<tenon_named_value>& kwargs = {}) {
  install_libtorch();
  const tenon_op* op = find(name, overload);
  Frame frame({}, kNoTensors);
  tenon_value result = tenon_none();
  tenon::components::detail::failure.clear();
  const tenon_status status =
      call_operator(frame.get(), op, args.data(), args.size(), kwargs.data(), kwargs.size(), &result, 1);
  const auto* handle = status == TENON_OK ? static_cast<const tenon_tensor*>(result.as.p) : nullptr;
  return {status, to_tensor(handle), tenon::components::detail::failure};
}

tenon_value value_of(const at::Tensor& tensor) { return tenon_tensor_value(to_handle(tensor)); }

}  // namespace

TEST_CASE("Scalars and defaults of the schema are filled in") {
  const at::Tensor a = torch::rand({3, 4});
  const at::Tensor b = torch::rand({3, 4});
  CHECK(torch::equal(call("aten::add", "Tensor", {value_of(a), value_of(b)}).result, a + b));
  const Call scaled = call("aten::add", "Tensor", {value_of(a), value_of(b)}, {{to_tenon("alpha"), tenon_int(3)}});
  CHECK(torch::equal(scaled.result, torch::add(a, b, 3)));
  CHECK(torch::equal(call("aten::mul", "Scalar", {value_of(a), tenon_float(0.5)}).result, a * 0.5));
}

TEST_CASE("lists, fixed lists from one number, optionals and dtypes convert") {
  const at::Tensor image = torch::rand({2, 3, 8, 8});
  const at::Tensor weight = torch::rand({4, 3, 3, 3});
  const int64_t padding[] = {1, 1};
  const Call convolved =
      call("aten::conv2d", "", {value_of(image), value_of(weight), tenon_none(), tenon_int(1), tenon_ints(padding, 2)});
  CHECK(torch::equal(convolved.result, torch::conv2d(image, weight, {}, 1, 1)));

  const int64_t dimensions[] = {2, 3};
  const Call summed = call("aten::sum", "dim_IntList", {value_of(image), tenon_ints(dimensions, 2)},
                           {{to_tenon("dtype"), tenon_dtype(TENON_FLOAT64)}});
  CHECK(torch::equal(summed.result, image.sum({2, 3}, false, torch::kDouble)));

  tenon_tensor* both[] = {to_handle(image), to_handle(image)};
  CHECK(torch::equal(call("aten::cat", "", {tenon_tensors(both, 2), tenon_int(1)}).result,
                     torch::cat({image, image}, 1)));
}

TEST_CASE("autograd records calls") {
  const at::Tensor x = torch::rand({5}, torch::requires_grad());
  const at::Tensor y = call("aten::sin", "", {value_of(x)}).result;
  y.sum().backward();
  CHECK(torch::allclose(x.grad(), x.detach().cos()));
}

TEST_CASE("invalid arguments are refused with their names") {
  const at::Tensor x = torch::rand({5});
  CHECK(call("aten::add", "Tensor", {value_of(x)}).failure == "aten::add.Tensor: argument other is missing");
  CHECK(call("aten::add", "Tensor", {value_of(x), tenon_int(1)}).failure ==
        "aten::add.Tensor: argument other is an int; expected TensorType");
  CHECK(call("aten::add", "Tensor", {value_of(x), value_of(x)}, {{to_tenon("alfa"), tenon_int(1)}}).failure ==
        "aten::add.Tensor: there is no argument \"alfa\"; did you mean \"alpha\"?");
  CHECK(call("aten::add", "Tensor", {value_of(x), value_of(x)}, {{to_tenon("other"), value_of(x)}}).failure ==
        "aten::add.Tensor: argument other is given twice");
  CHECK(call("aten::sin", "", {value_of(x), value_of(x)}).failure == "aten::sin: got 2 arguments; expected at most 1");
}

TEST_CASE("an operator's error is returned as text with the operator's name") {
  const Call failed = call("aten::add", "Tensor", {value_of(torch::rand({3})), value_of(torch::rand({4}))});
  CHECK(failed.status == TENON_FAILED);
  CHECK(failed.failure.find("aten::add.Tensor: The size of tensor a (3) must match") == 0);
}

TEST_CASE("an unknown operator or overload is reported with near names") {
  const tenon_op* op = nullptr;
  CHECK(find_operator(to_tenon("aten::softmx"), to_tenon("int"), &op) == TENON_NOT_FOUND);
  CHECK(tenon::components::detail::failure.find("there is no operator aten::softmx; did you mean aten::softmax?") == 0);
  CHECK(find_operator(to_tenon("aten::add"), to_tenon("Tenser"), &op) == TENON_NOT_FOUND);
  CHECK(tenon::components::detail::failure.find(
            "operator aten::add has no overload \"Tenser\"; did you mean \"Tensor\"?") == 0);
}

TEST_CASE("a call on a thread other than the frame's is refused") {
  install_libtorch();
  const tenon_op* op = find("aten::sin", "");
  Frame frame({}, kNoTensors);
  const at::Tensor x = torch::rand({5});
  tenon_status status = TENON_OK;
  std::thread([&] {
    const tenon_value argument = value_of(x);
    tenon_value result = tenon_none();
    status = call_operator(frame.get(), op, &argument, 1, nullptr, 0, &result, 1);
  }).join();
  CHECK(status == TENON_WRONG_THREAD);
}

TEST_CASE("results live as long as the frame, and longer when retained") {
  install_libtorch();
  const tenon_op* op = find("aten::sin", "");
  const at::Tensor x = torch::rand({5});
  tenon_tensor* retained = nullptr;
  {
    Frame frame({}, kNoTensors);
    const tenon_value argument = value_of(x);
    tenon_value result = tenon_none();
    REQUIRE(call_operator(frame.get(), op, &argument, 1, nullptr, 0, &result, 1) == TENON_OK);
    retained = static_cast<tenon_tensor*>(const_cast<void*>(result.as.p));
    CHECK(to_tensor(retained).use_count() == 2);  // the frame's reference and the one made for this check
    host_table().retain(retained);
  }
  CHECK(to_tensor(retained).use_count() == 2);  // the test's reference and the one made for this check
  host_table().release(retained);
}
