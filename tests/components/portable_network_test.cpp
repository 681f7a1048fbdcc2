// Compares a model and a loss in C with the same network in LibTorch. Losses, gradients and buffers are equal in double
// precision. Under autocast, the operators and their dtypes are the same.
#include "tests/components/portable_network.h"

#include <ATen/autocast_mode.h>
#include <ATen/record_function.h>

#include <string>
#include <vector>

#include "framework/components/kinds/loss.h"
#include "framework/components/kinds/model.h"
#include "framework/components/tensors/tensor_functions.h"
#include "tests/doctest_with_torch.h"

namespace portable_network_test {

using namespace tenon::components;

namespace {

const PluginInfo kPlugin{{"test", "1.0.0", "MIT", ""}, "test.so", "", TENON_ABI_CURRENT};
const Component kModel{{tenon::config::ComponentKind::model, "network", "", {}}, &portable_network_model, &kPlugin};
const Component kLoss{{tenon::config::ComponentKind::loss, "loss", "", {}}, &portable_network_loss, &kPlugin};

constexpr size_t kBuffers[] = {4, 5};  // buffers of batch norm
bool is_buffer(size_t index) { return index == kBuffers[0] || index == kBuffers[1]; }

// The results of a forward and backward pass over the network.
struct Pass {
  at::Tensor logits;
  at::Tensor loss;
  std::vector<at::Tensor> tensors;  // in the order of names()
  std::vector<std::string> operators;
};

// Records "aten::linear -> bfloat16" for every operator that is called in its scope, including those of backward.
class OperatorLog {
 public:
  OperatorLog() {
    seen() = {};
    handle_ = at::addGlobalCallback(
        at::RecordFunctionCallback(nullptr, &note).needsOutputs(true).scopes({at::RecordScope::FUNCTION}));
  }
  ~OperatorLog() { at::removeCallback(handle_); }
  std::vector<std::string> take() { return std::move(seen()); }

 private:
  static std::vector<std::string>& seen() {
    static std::vector<std::string> names;
    return names;
  }
  static void note(const at::RecordFunction& function, at::ObserverContext*) {
    std::string line = function.name();
    for (const c10::IValue& output : function.outputs())
      if (output.isTensor() && output.toTensor().defined())
        line += std::string(" ") + c10::toString(output.toTensor().scalar_type());
    seen().push_back(line);
  }
  at::CallbackHandle handle_;
};

struct Batch {
  at::Tensor images;
  at::Tensor labels;
};

Batch make_batch(at::ScalarType dtype) {
  torch::manual_seed(3);
  return {torch::randn({7, 3, 8, 8}, torch::kDouble).to(dtype), torch::randint(5, {7})};
}

// The same network written with LibTorch.
at::Tensor run_twin(const std::vector<at::Tensor>& w, const at::Tensor& images) {
  at::Tensor x = torch::conv2d(images, w[0], w[1], 1, 1);
  x = torch::relu(torch::batch_norm(x, w[2], w[3], w[4], w[5], true, 0.1, 1e-5, true));
  x = torch::flatten(torch::max_pool2d(x, 2, 2), 1);
  x = torch::linear(x, w[6], w[7]);
  x = torch::gelu(torch::layer_norm(x, {16}, w[8], w[9], 1e-5));
  return torch::linear(torch::dropout(x, 0.3, true), w[10], w[11]);
}

at::Tensor run_twin_loss(const at::Tensor& logits, const at::Tensor& labels) {
  const at::Tensor entropy = torch::cross_entropy_loss(logits, labels, {}, at::Reduction::Mean, -100, 0.1);
  return entropy + torch::mean(logits * logits) * 0.1;
}

void backward(Pass& pass, OperatorLog& log, int64_t seed_after_forward) {
  torch::manual_seed(seed_after_forward);
  pass.loss.backward();
  pass.operators = log.take();
}

Pass run_portable(const Batch& batch) {
  install_libtorch();
  torch::manual_seed(11);
  Model model(kModel, {});
  model.build();
  const Loss loss(kLoss, {});
  const StepContext context{.training = true};
  torch::manual_seed(12);
  Pass pass;
  OperatorLog log;
  pass.logits = model.forward(context, {batch.images}).at(0);
  pass.loss = loss.forward(context, {pass.logits, batch.labels}).loss;
  backward(pass, log, 13);
  for (const NamedTensor& named : model.tensors()) pass.tensors.push_back(named.tensor);
  return pass;
}

Pass run_libtorch(const Batch& batch, at::ScalarType dtype) {
  torch::manual_seed(11);
  Model initial(kModel, {});  // for equal initial weights
  initial.build();
  Pass pass;
  for (size_t i = 0; i < initial.tensors().size(); ++i)
    pass.tensors.push_back(initial.tensors()[i].tensor.detach().clone().to(dtype).requires_grad_(!is_buffer(i)));
  torch::manual_seed(12);
  OperatorLog log;
  pass.logits = run_twin(pass.tensors, batch.images);
  pass.loss = run_twin_loss(pass.logits, batch.labels);
  backward(pass, log, 13);
  return pass;
}

double largest_difference(const at::Tensor& one, const at::Tensor& other) {
  REQUIRE(one.sizes() == other.sizes());
  return (one.to(torch::kDouble) - other.to(torch::kDouble)).abs().max().item<double>();
}

void require_equal(const Pass& portable, const Pass& native, double tolerance) {
  CHECK(largest_difference(portable.loss, native.loss) <= tolerance);
  CHECK(largest_difference(portable.logits, native.logits) <= tolerance);
  for (size_t i = 0; i < portable.tensors.size(); ++i) {
    CAPTURE(i);
    CHECK(largest_difference(portable.tensors[i], native.tensors[i]) <= tolerance);
    if (is_buffer(i)) continue;
    REQUIRE(portable.tensors[i].grad().defined());
    CHECK(portable.tensors[i].grad().abs().max().item<double>() > 0);
    CHECK(largest_difference(portable.tensors[i].grad(), native.tensors[i].grad()) <= tolerance);
  }
}

}  // namespace

TEST_CASE("a model and a loss in C have the gradients of the same network in LibTorch, to 1e-12 in double precision") {
  portable_network_dtype = TENON_FLOAT64;
  const Batch batch = make_batch(torch::kDouble);
  const Pass portable = run_portable(batch);
  require_equal(portable, run_libtorch(batch, torch::kDouble), 1e-12);
  CHECK(portable.operators.size() > 30);
}

TEST_CASE("under autocast a model and a loss in C run the same operators and dtypes as in LibTorch") {
  portable_network_dtype = TENON_FLOAT32;
  const Batch batch = make_batch(torch::kFloat);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  const Pass portable = run_portable(batch);
  at::autocast::clear_cache();
  const Pass native = run_libtorch(batch, torch::kFloat);
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, false);

  CHECK(portable.logits.scalar_type() == at::kBFloat16);
  CHECK(portable.operators == native.operators);
  require_equal(portable, native, 0);
}

TEST_CASE("the host reads the parts of a loss in C") {
  portable_network_dtype = TENON_FLOAT64;
  install_libtorch();
  const Loss loss(kLoss, {});
  CHECK(loss.part_names() == std::vector<std::string>{"entropy", "penalty"});
  const at::Tensor logits = torch::randn({4, 5}, torch::kDouble);
  const Loss::Result result = loss.forward({.training = true}, {logits, torch::randint(5, {4})});
  REQUIRE(result.parts.size() == 2);
  CHECK(result.parts[1].item<double>() == doctest::Approx((logits * logits).mean().item<double>()));
  CHECK(result.loss.item<double>() ==
        doctest::Approx(result.parts[0].item<double>() + 0.1 * result.parts[1].item<double>()));
}

}  // namespace portable_network_test
