// Layers for portable models. Each layer declares its weights with PyTorch's names and initialisation, and computes
// with the weights of the frame. Create layers in build() and call them in forward():
//
//   void build(tenon::Builder& builder) { hidden_ = tenon::Linear(builder, "hidden", 64, 128); }
//   tenon::Tensor forward(const tenon::Frame&, const tenon::Inputs& inputs) const { return hidden_(inputs[0]); }
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model.hpp"
#include "ops.hpp"

namespace tenon {

namespace detail {

// The initialisation of torch.nn for the weights and biases of Linear and Conv: uniform within 1 / sqrt(fan_in).
inline Init uniform_by_fan_in(int64_t fan_in) {
  const double bound = fan_in > 0 ? 1 / std::sqrt(static_cast<double>(fan_in)) : 0;
  return init::uniform(-bound, bound);
}

inline Tensor tensor_or_none(const Frame& frame, const std::optional<uint64_t>& index) {
  return index ? frame.tensor(*index) : Tensor();
}

}  // namespace detail

struct LinearOptions {
  bool has_bias = true;
  std::optional<Init> init = std::nullopt;       // initialisation of the weight; default: that of torch.nn.Linear
  std::optional<Init> bias_init = std::nullopt;  // likewise of the bias
};

// torch.nn.Linear: [..., inputs] to [..., outputs].
class Linear {
 public:
  Linear() = default;
  Linear(const Builder& builder, const std::string& name, int64_t inputs, int64_t outputs, bool has_bias = true)
      : Linear(builder, name, inputs, outputs, LinearOptions{has_bias}) {}
  Linear(const Builder& builder, const std::string& name, int64_t inputs, int64_t outputs,
         const LinearOptions& options) {
    const Init init = detail::uniform_by_fan_in(inputs);
    weight_ = builder.parameter(name + ".weight", {outputs, inputs}, options.init.value_or(init));
    if (options.has_bias) bias_ = builder.parameter(name + ".bias", {outputs}, options.bias_init.value_or(init));
  }

  Tensor operator()(const Tensor& input) const {
    const Frame& frame = *input.frame();
    return linear(input, frame.tensor(weight_), detail::tensor_or_none(frame, bias_));
  }

 private:
  uint64_t weight_ = 0;
  std::optional<uint64_t> bias_;
};

struct Conv2dOptions {
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t dilation = 1;
  int64_t groups = 1;
  bool has_bias = true;
  std::optional<Init> init = std::nullopt;       // initialisation of the weight; default: that of torch.nn.Conv2d
  std::optional<Init> bias_init = std::nullopt;  // likewise of the bias
};

// torch.nn.Conv2d with a square kernel: [N, inputs, H, W] to [N, outputs, H', W'].
class Conv2d {
 public:
  Conv2d() = default;
  Conv2d(const Builder& builder, const std::string& name, int64_t inputs, int64_t outputs, int64_t kernel,
         const Conv2dOptions& options = {})
      : options_(options) {
    if (options.groups < 1 || inputs % options.groups != 0) {
      throw Error(TENON_INVALID_ARGUMENT, name + ": " + std::to_string(inputs) + " channels in " +
                                              std::to_string(options.groups) +
                                              " groups; expected a number of groups that divides the channels");
    }
    const int64_t group_inputs = inputs / options.groups;
    const Init init = detail::uniform_by_fan_in(group_inputs * kernel * kernel);
    weight_ = builder.parameter(name + ".weight", {outputs, group_inputs, kernel, kernel}, options.init.value_or(init));
    if (options.has_bias) bias_ = builder.parameter(name + ".bias", {outputs}, options.bias_init.value_or(init));
  }

  Tensor operator()(const Tensor& input) const {
    const Frame& frame = *input.frame();
    return conv2d(input, frame.tensor(weight_), detail::tensor_or_none(frame, bias_), options_.stride, options_.padding,
                  options_.dilation, options_.groups);
  }

 private:
  Conv2dOptions options_;
  uint64_t weight_ = 0;
  std::optional<uint64_t> bias_;
};

// torch.nn.BatchNorm1d and BatchNorm2d for [N, channels, ...]. `weight` is the initial value of all weights.
class BatchNorm {
 public:
  BatchNorm() = default;
  BatchNorm(const Builder& builder, const std::string& name, int64_t channels, double momentum = 0.1, double eps = 1e-5,
            double weight = 1)
      : momentum_(momentum), eps_(eps) {
    weight_ = builder.parameter(name + ".weight", {channels}, init::constant(weight));
    bias_ = builder.parameter(name + ".bias", {channels}, init::constant(0));
    mean_ = builder.buffer(name + ".running_mean", {channels}, init::constant(0));
    var_ = builder.buffer(name + ".running_var", {channels}, init::constant(1));
    batches_ = builder.buffer(name + ".num_batches_tracked", {}, init::constant(0), TENON_INT64);
  }

  Tensor operator()(const Tensor& input) const {
    const Frame& frame = *input.frame();
    if (frame.is_training()) frame.tensor(batches_) += 1;
    return batch_norm(input, frame.tensor(weight_), frame.tensor(bias_), frame.tensor(mean_), frame.tensor(var_),
                      momentum_, eps_);
  }

 private:
  double momentum_ = 0;
  double eps_ = 0;
  uint64_t weight_ = 0;
  uint64_t bias_ = 0;
  uint64_t mean_ = 0;
  uint64_t var_ = 0;
  uint64_t batches_ = 0;
};

// torch.nn.LayerNorm over the last dimensions, which have the shape `shape`.
class LayerNorm {
 public:
  LayerNorm() = default;
  LayerNorm(const Builder& builder, const std::string& name, std::vector<int64_t> shape, double eps = 1e-5,
            bool has_bias = true)
      : shape_(std::move(shape)), eps_(eps) {
    weight_ = builder.parameter(name + ".weight", shape_, init::constant(1));
    if (has_bias) bias_ = builder.parameter(name + ".bias", shape_, init::constant(0));
  }

  Tensor operator()(const Tensor& input) const {
    const Frame& frame = *input.frame();
    return layer_norm(input, shape_, frame.tensor(weight_), detail::tensor_or_none(frame, bias_), eps_);
  }

 private:
  std::vector<int64_t> shape_;
  double eps_ = 0;
  uint64_t weight_ = 0;
  std::optional<uint64_t> bias_;
};

// torch.nn.Embedding: [...] int64 in [0, entries) to [..., width].
class Embedding {
 public:
  Embedding() = default;
  Embedding(const Builder& builder, const std::string& name, int64_t entries, int64_t width)
      : weight_(builder.parameter(name + ".weight", {entries, width}, init::normal(0, 1))) {}

  Tensor operator()(const Tensor& indices) const { return embedding(indices.frame()->tensor(weight_), indices); }

 private:
  uint64_t weight_ = 0;
};

}  // namespace tenon
