#include "tests/cuda_standin/operators/compute.h"

#include <ATen/ATen.h>

#include <functional>
#include <map>

#include "tests/cuda/float_sgd.h"
#include "tests/cuda_standin/standin.h"

namespace tenon::standin {

namespace {

using c10::IValue;
using torch::jit::Stack;

// The arguments of a call by their names in the schema.
class Arguments final {
 public:
  Arguments(const c10::OperatorHandle& op, const Stack& stack)
      : arguments_(op.schema().arguments()), first_(stack.end() - static_cast<int64_t>(arguments_.size())) {}

  bool has(const std::string& name) const { return index_of(name) < arguments_.size() && !at(name).isNone(); }
  const IValue& at(const std::string& name) const {
    const size_t index = index_of(name);
    TORCH_CHECK(index < arguments_.size(), "the operator has no argument ", name);
    return first_[static_cast<int64_t>(index)];
  }
  at::Tensor tensor(const std::string& name) const { return has(name) ? at(name).toTensor() : at::Tensor(); }
  std::optional<double> number(const std::string& name) const {
    return has(name) ? std::optional(at(name).toDouble()) : std::nullopt;
  }

 private:
  size_t index_of(const std::string& name) const {
    size_t i = 0;
    while (i < arguments_.size() && arguments_[i].name() != name) ++i;
    return i;
  }

  const std::vector<c10::Argument>& arguments_;
  Stack::const_iterator first_;
};

// Enables autograd within an operator, where it is disabled.
class WithAutograd final {
 public:
  WithAutograd() : keys_(without_exclusions()) {}

 private:
  static c10::impl::LocalDispatchKeySet without_exclusions() {
    c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
    keys.excluded_ = keys.excluded_ - c10::autograd_dispatch_keyset_with_ADInplaceOrView;
    return keys;
  }

  at::AutoGradMode mode_{true};
  c10::impl::ForceDispatchKeyGuard keys_;
};

at::Tensor leaf(const at::Tensor& tensor) { return tensor.defined() ? tensor.detach().requires_grad_() : tensor; }

std::vector<IValue> batch_norm(const Arguments& a) {
  auto [output, mean, inverse_deviation] = at::native_batch_norm(
      a.tensor("input"), a.tensor("weight"), a.tensor("bias"), a.tensor("running_mean"), a.tensor("running_var"),
      a.at("training").toBool(), a.at("exponential_average_factor").toDouble(), a.at("epsilon").toDouble());
  return {output, mean, inverse_deviation, IValue()};
}

std::vector<IValue> batch_norm_backward(const Arguments& a) {
  auto [input, weight, bias] = at::native_batch_norm_backward(
      a.tensor("grad_output"), a.tensor("input"), a.tensor("weight"), a.tensor("running_mean"), a.tensor("running_var"),
      a.tensor("save_mean"), a.tensor("save_var"), /*train=*/true, a.at("epsilon").toDouble(), {true, true, true});
  return {input, weight, bias};
}

std::optional<at::Tensor> bias_of(const Arguments& a) {
  const at::Tensor bias = a.tensor("attn_bias");
  return bias.defined() ? std::optional(bias) : std::nullopt;
}

std::vector<IValue> attention(const Arguments& a) {
  return {std::get<0>(at::_scaled_dot_product_attention_math(
      a.tensor("query"), a.tensor("key"), a.tensor("value"), bias_of(a), a.at("dropout_p").toDouble(),
      a.at("is_causal").toBool(), std::nullopt, a.number("scale")))};
}

// Repeats forward, so without dropout only.
std::vector<IValue> attention_backward(const Arguments& a) {
  if (a.at("dropout_p").toDouble() > 0) log("the backward of attention leaves out the dropout");
  const WithAutograd autograd;
  const at::Tensor query = leaf(a.tensor("query")), key = leaf(a.tensor("key")), value = leaf(a.tensor("value"));
  const at::Tensor gradient = a.has("grad_out") ? a.tensor("grad_out") : a.tensor("grad_out_");
  const at::Tensor output = std::get<0>(at::_scaled_dot_product_attention_math(
      query, key, value, bias_of(a), 0.0, a.at("is_causal").toBool(), std::nullopt, a.number("scale")));
  output.backward(gradient);
  return {query.grad(), key.grad(), value.grad()};
}

struct Recurrent {
  at::Tensor output, hidden, cells;
};

// cuDNN's numbers of the cells: 0 ReLU, 1 tanh, 2 LSTM, 3 GRU.
Recurrent run_recurrent(const Arguments& a, const at::Tensor& input, const std::vector<at::Tensor>& weights,
                        const at::Tensor& hidden, const at::Tensor& cells) {
  TORCH_CHECK(a.at("batch_sizes").toListRef().empty(), "the stand-in has no packed sequences");
  const bool has_biases = a.at("weight_stride0").toInt() == 4;
  const int64_t layers = a.at("num_layers").toInt(), mode = a.at("mode").toInt();
  const bool trains = a.at("train").toBool(), is_bidirectional = a.at("bidirectional").toBool();
  const bool batch_first = a.at("batch_first").toBool();
  if (a.at("dropout").toDouble() > 0 && trains && layers > 1) log("recurrent layers leave out the dropout");
  if (mode == 2) {
    auto [output, last, last_cells] =
        at::lstm(input, {hidden, cells}, weights, has_biases, layers, 0.0, trains, is_bidirectional, batch_first);
    return {output, last, last_cells};
  }
  const auto simple = [&](auto run) {
    auto [output, last] = run(input, hidden, weights, has_biases, layers, 0.0, trains, is_bidirectional, batch_first);
    return Recurrent{output, last, at::Tensor()};
  };
  if (mode == 3) return simple([](auto&&... all) { return at::gru(all...); });
  if (mode == 1) return simple([](auto&&... all) { return at::rnn_tanh(all...); });
  return simple([](auto&&... all) { return at::rnn_relu(all...); });
}

std::vector<IValue> recurrent(const Arguments& a) {
  const Recurrent result =
      run_recurrent(a, a.tensor("input"), a.at("weight").toTensorVector(), a.tensor("hx"), a.tensor("cx"));
  return {result.output, result.hidden, result.cells, IValue(), IValue()};
}

std::vector<IValue> recurrent_backward(const Arguments& a) {
  const WithAutograd autograd;
  const at::Tensor input = leaf(a.tensor("input")), hidden = leaf(a.tensor("hx")), cells = leaf(a.tensor("cx"));
  std::vector<at::Tensor> weights;
  for (const at::Tensor& weight : a.at("weight").toTensorVector()) weights.push_back(leaf(weight));
  const Recurrent result = run_recurrent(a, input, weights, hidden, cells);
  at::Tensor sum = at::zeros({}, input.options());
  const auto add = [&](const at::Tensor& output, const at::Tensor& gradient) {
    if (output.defined() && gradient.defined()) sum = sum + (output * gradient).sum();
  };
  add(result.output, a.tensor("grad_output"));
  add(result.hidden, a.tensor("grad_hy"));
  add(result.cells, a.tensor("grad_cy"));
  sum.backward();
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& weight : weights) gradients.push_back(weight.grad());
  const auto of = [](const at::Tensor& tensor) { return tensor.defined() ? tensor.grad() : tensor; };
  return {of(input), of(hidden), of(cells), gradients};
}

// The workspace keeps the gates and the state for backward.
std::vector<IValue> gru_cell(const Arguments& a) {
  const auto gates = [&](const char* name, const char* bias) {
    return a.has(bias) ? a.tensor(name) + a.tensor(bias) : a.tensor(name);
  };
  const at::Tensor input = gates("input_gates", "input_bias"), hidden = gates("hidden_gates", "hidden_bias");
  const at::Tensor state = a.tensor("hx");
  const auto x = input.chunk(3, 1), h = hidden.chunk(3, 1);
  const at::Tensor reset = (x[0] + h[0]).sigmoid(), update = (x[1] + h[1]).sigmoid();
  const at::Tensor candidate = (x[2] + reset * h[2]).tanh();
  return {candidate + update * (state - candidate), at::cat({input, hidden, state}, 1)};
}

std::vector<IValue> gru_cell_backward(const Arguments& a) {
  const at::Tensor gradient = a.tensor("grad_hy");
  const int64_t width = gradient.size(1);
  const auto saved = a.tensor("workspace").split_with_sizes({3 * width, 3 * width, width}, 1);
  auto [input, hidden, state, input_bias, hidden_bias] =
      at::_thnn_differentiable_gru_cell_backward(gradient, saved[0], saved[1], saved[2], {}, {});
  if (!a.at("has_bias").toBool()) return {input, hidden, state, IValue(), IValue()};
  return {input, hidden, state, input.sum(0), hidden.sum(0)};
}

// CUDA keeps nothing for backward.
std::vector<IValue> log_sigmoid_backward(const Arguments& a) {
  const at::Tensor input = a.tensor("self");
  return {a.tensor("grad_output") * input.neg().sigmoid()};
}

using Composed = std::function<std::vector<IValue>(const Arguments&)>;

const std::map<std::string, Composed>& composed() {
  static const auto* const all = new std::map<std::string, Composed>{
      {"aten::cudnn_batch_norm", batch_norm},
      {"aten::cudnn_batch_norm_backward", batch_norm_backward},
      {"aten::_scaled_dot_product_flash_attention", attention},
      {"aten::_scaled_dot_product_efficient_attention", attention},
      {"aten::_scaled_dot_product_cudnn_attention", attention},
      {"aten::_scaled_dot_product_flash_attention_backward", attention_backward},
      {"aten::_scaled_dot_product_efficient_attention_backward", attention_backward},
      {"aten::_scaled_dot_product_cudnn_attention_backward", attention_backward},
      {"aten::log_sigmoid_backward", log_sigmoid_backward},
      {"aten::_thnn_fused_gru_cell", gru_cell},
      {"aten::_thnn_fused_gru_cell_backward", gru_cell_backward},
      {"aten::_cudnn_rnn", recurrent},
      {"aten::_cudnn_rnn_backward", recurrent_backward},
      {"aten::_use_cudnn_ctc_loss", [](const Arguments&) { return std::vector<IValue>{false}; }},
      {"aten::_use_miopen_ctc_loss", [](const Arguments&) { return std::vector<IValue>{false}; }},
  };
  return *all;
}

}  // namespace

bool is_composed(const std::string& name) { return composed().contains(name); }

void compute(const c10::OperatorHandle& op, Stack& stack) {
  const std::string& name = op.schema().operator_name().name;
  const size_t arguments = op.schema().arguments().size(), results = op.schema().returns().size();
  if (const auto found = composed().find(name); found != composed().end()) {
    std::vector<IValue> list = found->second(Arguments(op, stack));
    list.resize(results);
    torch::jit::drop(stack, arguments);
    for (IValue& result : list) stack.push_back(std::move(result));
    return;
  }
  const auto first = stack.end() - static_cast<int64_t>(arguments);
  std::optional<at::ScalarType> dtype;
  // The CPU has no softmax from one dtype to another.
  if ((name == "aten::_softmax" || name == "aten::_log_softmax") && first[2].toBool()) {
    first[0] = first[0].toTensor().to(at::kFloat);
    first[2] = false;
  } else if (name == "aten::_softmax_backward_data" || name == "aten::_log_softmax_backward_data") {
    dtype = first[3].toScalarType();
    first[3] = first[0].toTensor().scalar_type();
  }
  // CUDA keeps the statistics of half-precision inputs in float32, and the CPU in the dtype of the input.
  const auto convert = [&](std::initializer_list<int64_t> statistics, at::ScalarType to) {
    for (const int64_t i : statistics)
      if (!first[i].isNone()) first[i] = first[i].toTensor().to(to);
  };
  if (name == "aten::native_batch_norm_backward" && !first[2].isNone())
    convert({5, 6}, first[2].toTensor().scalar_type());
  if (name == "aten::native_layer_norm_backward" && first[1].toTensor().scalar_type() != at::kDouble)
    convert({3, 4}, first[1].toTensor().scalar_type());
  const auto copies = tests::use_float_sgd(op, stack);
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
  for (const auto& [to, from] : copies) to.copy_(from);
  if (dtype) stack.back() = stack.back().toTensor().to(*dtype);
}

}  // namespace tenon::standin
