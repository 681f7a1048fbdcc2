#include "framework/profiling/operator_macs.h"

#include <ATen/core/Tensor.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <map>
#include <string>

namespace tenon::profiling {

namespace {

using Inputs = c10::ArrayRef<const c10::IValue>;

c10::IntArrayRef sizes_of(const c10::IValue& input) { return input.toTensor().sizes(); }

int64_t product(c10::IntArrayRef sizes) { return c10::multiply_integers(sizes); }

// Counts the product of [..., n, k] with [..., k, m] or [k].
int64_t multiply(const c10::IValue& left, const c10::IValue& right) {
  const c10::IntArrayRef second = sizes_of(right);
  return product(sizes_of(left)) * (second.size() < 2 ? 1 : second.back());
}

// Each weight element is used once per position of the output, or of the input if the input is smaller.
int64_t convolve(c10::IntArrayRef smaller, const c10::IValue& weight) {
  return smaller[0] * product(smaller.slice(2)) * product(sizes_of(weight));
}

// Inputs: input, weight, bias, stride, padding, dilation, transposed.
int64_t count_convolution(Inputs inputs) {
  const c10::IntArrayRef input = sizes_of(inputs[0]);
  if (inputs[6].toBool()) return convolve(input, inputs[1]);
  const c10::IntArrayRef weight = sizes_of(inputs[1]);
  const std::vector<int64_t> stride = inputs[3].toIntVector(), padding = inputs[4].toIntVector(),
                             dilation = inputs[5].toIntVector();
  // One number can apply to all dimensions.
  const auto at = [](const std::vector<int64_t>& numbers, size_t i) {
    return numbers[std::min(i, numbers.size() - 1)];
  };
  std::vector<int64_t> output{input[0], weight[0]};
  for (size_t i = 0; i + 2 < input.size(); ++i)
    output.push_back((input[i + 2] + 2 * at(padding, i) - at(dilation, i) * (weight[i + 2] - 1) - 1) / at(stride, i) +
                     1);
  return convolve(output, inputs[1]);
}

// Inputs: gradient of the output, input, weight, bias sizes, stride, padding, dilation, transposed, output padding,
// groups, mask.
int64_t count_convolution_backward(Inputs inputs) {
  const auto mask = inputs[10].toBoolList();
  const int64_t gradients = int64_t{mask.get(0)} + int64_t{mask.get(1)};
  return gradients * convolve(sizes_of(inputs[inputs[7].toBool() ? 1 : 0]), inputs[2]);
}

// MACs for all heads and sequences: the scores of `queries` and `keys`, and the weighted values.
struct AttentionProducts {
  int64_t scores;
  int64_t values;
};

// Shapes: query [..., L, E], key [..., S, E], value [..., S, Ev].
AttentionProducts attend(const c10::IValue& query, const c10::IValue& key, const c10::IValue& value) {
  const c10::IntArrayRef keys = sizes_of(key);
  const c10::IntArrayRef queries = sizes_of(query);
  const int64_t scores = product(queries) * keys[keys.size() - 2];
  return {scores, scores / queries.back() * sizes_of(value).back()};
}

int64_t count_attention(Inputs inputs) {
  const AttentionProducts products = attend(inputs[0], inputs[1], inputs[2]);
  return products.scores + products.values;
}

// Backward recomputes the scores and computes the gradients of queries, keys, values and attention weights.
int64_t count_attention_backward(Inputs inputs) {
  const AttentionProducts products = attend(inputs[1], inputs[2], inputs[3]);
  return 3 * products.scores + 2 * products.values;
}

using Count = int64_t (*)(Inputs);

const std::map<std::string_view, Count>& counts() {
  static const Count of_two = [](Inputs inputs) { return multiply(inputs[0], inputs[1]); };
  static const Count of_last_two = [](Inputs inputs) { return multiply(inputs[1], inputs[2]); };
  static const std::map<std::string_view, Count> table{
      {"aten::mm", of_two},
      {"aten::bmm", of_two},
      {"aten::mv", of_two},
      {"aten::dot", of_two},
      {"aten::addmm", of_last_two},
      {"aten::addmv", of_last_two},
      {"aten::baddbmm", of_last_two},
      {"aten::convolution", count_convolution},
      {"aten::_convolution", count_convolution},
      {"aten::convolution_backward", count_convolution_backward},
      {"aten::scaled_dot_product_attention", count_attention},
      {"aten::_scaled_dot_product_flash_attention_backward", count_attention_backward},
      {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", count_attention_backward},
      {"aten::_scaled_dot_product_efficient_attention_backward", count_attention_backward},
      {"aten::_scaled_dot_product_cudnn_attention_backward", count_attention_backward},
  };
  return table;
}

}  // namespace

std::optional<int64_t> count_macs(std::string_view name, Inputs inputs) {
  const auto count = counts().find(name);
  if (count == counts().end()) return std::nullopt;
  return count->second(inputs);
}

bool is_uncounted(std::string_view name) {
  return name == "aten::_cudnn_rnn" || name == "aten::_cudnn_rnn_backward" || name == "aten::mkldnn_rnn_layer" ||
         name == "aten::mkldnn_rnn_layer_backward";
}

}  // namespace tenon::profiling
