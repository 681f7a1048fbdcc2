#include "framework/components/tensors/host_extensions.h"

#include <torch/autograd.h>
#include <tenon/plugin.hpp>

#include "framework/components/calls/guard.h"
#include "framework/components/calls/host_table.h"
#include "framework/components/tensors/frame.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/support/diagnostics/error.h"
#include "tests/doctest_with_torch.h"

namespace gradients_test {

using tenon::components::to_handle;
using tenon::components::to_tensor;

namespace {

// x * sigmoid(x), with a hand-written derivative.
struct Swish {
  static constexpr size_t outputs = 1;
  static constexpr size_t saved = 2;
  std::vector<tenon::Tensor> forward(const tenon::Frame&, const std::vector<tenon::Tensor>& inputs,
                                     std::vector<tenon::Tensor>& saved) const {
    const tenon::Tensor gate = sigmoid(inputs[0]);
    saved = {inputs[0], gate};
    return {inputs[0] * gate};
  }
  std::vector<tenon::Tensor> backward(const tenon::Frame&, const std::vector<tenon::Tensor>& saved,
                                      const std::vector<tenon::Tensor>& gradients) const {
    const tenon::Tensor& gate = saved[1];
    return {gradients[0] * (gate * (1 + saved[0] * (1 - gate)))};
  }
};

// A function with two outputs. The second output is not used, and the second input gets no gradient.
struct Halves {
  static constexpr size_t outputs = 2;
  static constexpr size_t saved = 0;
  std::vector<tenon::Tensor> forward(const tenon::Frame&, const std::vector<tenon::Tensor>& inputs,
                                     std::vector<tenon::Tensor>&) const {
    return {inputs[0] * 0.5, inputs[1] * 2};
  }
  std::vector<tenon::Tensor> backward(const tenon::Frame&, const std::vector<tenon::Tensor>&,
                                      const std::vector<tenon::Tensor>& gradients) const {
    second_is_zero = !gradients[1];
    return {gradients[0] * 0.5, {}};
  }
  mutable bool second_is_zero = false;
};

struct Failing {
  static constexpr size_t outputs = 1;
  static constexpr size_t saved = 0;
  std::vector<tenon::Tensor> forward(const tenon::Frame&, const std::vector<tenon::Tensor>& inputs,
                                     std::vector<tenon::Tensor>&) const {
    if (fails_in_forward) throw tenon::Error("forward is out of order");
    return {inputs[0] + 1.0};
  }
  std::vector<tenon::Tensor> backward(const tenon::Frame&, const std::vector<tenon::Tensor>&,
                                      const std::vector<tenon::Tensor>&) const {
    throw tenon::Error("backward is out of order");
  }
  bool fails_in_forward;
};

const tenon::components::PluginInfo kPlugin{{"test", "1.0.0", "MIT", ""}, "test.so", "", 0};
const tenon::components::Component kComponent{{tenon::config::ComponentKind::loss, "test", "", {}}, nullptr, &kPlugin};

// Runs `body` as the forward of a component.
template <class Body>
void within_component(const Body& body) {
  tenon::components::install_libtorch();
  tenon::detail::host = &tenon::components::host_table();
  tenon::components::call_plugin(kComponent, "forward", [&] {
    const std::vector<tenon_tensor*> no_tensors;
    tenon::components::Frame host_frame({.training = true}, no_tensors);
    return tenon::detail::guard([&] { body(tenon::Frame(host_frame.get())); });
  });
}

}  // namespace

TEST_CASE("a gradient written by hand equals LibTorch's in double precision") {
  const at::Tensor x = torch::randn({50}, torch::kDouble).set_requires_grad(true);
  at::Tensor y;
  static const Swish swish;
  within_component([&](const tenon::Frame& frame) {
    y = to_tensor(tenon::apply(swish, {tenon::Tensor(to_handle(x), &frame)})[0].handle());
  });
  const at::Tensor weights = torch::arange(1, 51, torch::kDouble);
  const auto ours = torch::autograd::grad({(y * weights).sum()}, {x})[0];
  const auto theirs = torch::autograd::grad({(torch::silu(x) * weights).sum()}, {x})[0];
  CHECK(torch::allclose(y, torch::silu(x), 1e-12, 1e-12));
  CHECK(torch::allclose(ours, theirs, 1e-12, 1e-12));
}

TEST_CASE("an unused output has a null gradient, and an input may get none") {
  const at::Tensor x = torch::randn({3}).set_requires_grad(true);
  const at::Tensor z = torch::randn({3}).set_requires_grad(true);
  at::Tensor y;
  static const Halves halves;
  within_component([&](const tenon::Frame& frame) {
    y = to_tensor(
        tenon::apply(halves, {tenon::Tensor(to_handle(x), &frame), tenon::Tensor(to_handle(z), &frame)})[0].handle());
  });
  y.sum().backward();
  CHECK(halves.second_is_zero);
  CHECK(torch::equal(x.grad(), torch::full({3}, 0.5)));
  CHECK_FALSE(z.grad().defined());
}

TEST_CASE("without autograd only the forward of a function runs") {
  const torch::NoGradGuard no_grad;
  const at::Tensor x = torch::randn({3}).set_requires_grad(true);
  static const Swish swish;
  within_component([&](const tenon::Frame& frame) {
    const at::Tensor y = to_tensor(tenon::apply(swish, {tenon::Tensor(to_handle(x), &frame)})[0].handle());
    CHECK_FALSE(y.requires_grad());
    CHECK(torch::allclose(y, torch::silu(x)));
  });
}

TEST_CASE("errors of a function name the component and the function") {
  const at::Tensor x = torch::randn({3}).set_requires_grad(true);
  static const Failing in_forward{true};
  static const Failing in_backward{false};
  try {
    within_component(
        [&](const tenon::Frame& frame) { tenon::apply(in_forward, {tenon::Tensor(to_handle(x), &frame)}); });
    FAIL("forward did not throw");
  } catch (const tenon::support::Error& error) {
    CHECK(std::string(error.what()).find("forward of a function: forward is out of order") != std::string::npos);
  }
  at::Tensor y;
  within_component([&](const tenon::Frame& frame) {
    y = to_tensor(tenon::apply(in_backward, {tenon::Tensor(to_handle(x), &frame)})[0].handle());
  });
  try {
    y.sum().backward();
    FAIL("backward did not throw");
  } catch (const std::exception& error) {
    CHECK(std::string(error.what())
              .find("loss \"test\" of plugin test 1.0.0, backward of a function: "
                    "backward is out of order") != std::string::npos);
  }
}

TEST_CASE("a plugin makes a tensor from its numbers") {
  within_component([&](const tenon::Frame& frame) {
    const at::Tensor made = to_tensor(frame.make<float>({1, 2, 3, 4, 5, 6}, {2, 3}).handle());
    CHECK(torch::equal(made, torch::tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}).reshape({2, 3})));
    CHECK(to_tensor(frame.make<int64_t>({7}, {}).handle()).item<int64_t>() == 7);
    CHECK_THROWS_WITH(frame.make<float>({1, 2}, {3}), "got 2 elements for a tensor; its shape has 3");
  });
}

TEST_CASE("operators without a C++ wrapper take lists and names and return several results") {
  within_component([&](const tenon::Frame& frame) {
    static const tenon::Op sort("aten::sort");
    static const tenon::Op add("aten::add", "Tensor");
    static const tenon::Op einsum("aten::einsum");
    const tenon::Tensor x = frame.make<float>({3, 1, 2}, {3});
    const auto sorted = frame.call_for(sort, 2, {x, 0, true});
    CHECK(torch::equal(to_tensor(sorted[0].handle()), torch::tensor({3.f, 2.f, 1.f})));
    CHECK(torch::equal(to_tensor(sorted[1].handle()), torch::tensor({int64_t{0}, int64_t{2}, int64_t{1}})));
    CHECK(torch::equal(to_tensor(frame.call(add, {x, x}, {{"alpha", 2}}).handle()), torch::tensor({9.f, 3.f, 6.f})));
    const std::vector<tenon::Tensor> pair{x, x};
    CHECK(to_tensor(frame.call(einsum, {"i,i->", pair}).handle()).item<float>() == 14);
  });
}

}  // namespace gradients_test
