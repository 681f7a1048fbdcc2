// Compares the gradients of attention in bfloat16 and float16 with its definition in double precision.
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward_native.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "framework/operators/attention_backward.h"
#include "framework/operators/batch_norm.h"
#include "tests/doctest_with_torch.h"

namespace {

using at::Tensor;

struct Case {
  int64_t batch, heads, queries, keys, head_size;
  bool is_causal = false;
  std::optional<at::ScalarType> mask = {};  // its type
};

const std::vector<Case> kSmall = {
    {2, 3, 17, 17, 16},
    {2, 3, 17, 17, 16, true},
    {3, 2, 40, 90, 32},
    {1, 2, 90, 40, 8, false, at::kFloat},
    {1, 2, 65, 65, 64, false, at::kBFloat16},
    {1, 2, 150, 150, 40, true},
    {1, 1, 200, 130, 32},
    {2, 2, 1, 70, 32},
};

struct Inputs {
  Tensor query = {}, key = {}, value = {}, output_gradient = {}, mask = {};
  double scale = 0;
};

// The numbers are exact in `type`. As in a model, query, key and value are parts of one tensor if they have one length.
Inputs make_inputs(const Case& one, at::ScalarType type) {
  // Ensures that the replaced operators are linked.
  REQUIRE((tenon::operators::batch_norm_hooks().normalise == nullptr));
  torch::manual_seed(1);
  const auto make = [&](int64_t rows, int64_t parts) {
    return torch::randn({one.batch, rows, parts * one.heads * one.head_size}).to(type);
  };
  const auto divide = [&](const Tensor& joined) {
    std::vector<Tensor> parts;
    for (const Tensor& part : joined.split(one.heads * one.head_size, 2))
      parts.push_back(part.view({one.batch, part.size(1), one.heads, one.head_size}).transpose(1, 2));
    return parts;
  };
  Inputs made;
  std::vector<Tensor> parts = divide(make(one.keys, one.queries == one.keys ? 3 : 2));
  if (one.queries != one.keys) parts.push_back(divide(make(one.queries, 1))[0]);
  made.key = parts[0];
  made.value = parts[1];
  made.query = parts[2];
  made.output_gradient = divide(make(one.queries, 1))[0];
  if (one.mask) made.mask = torch::randn({one.batch, 1, one.queries, one.keys}).to(*one.mask);
  made.scale = 1 / std::sqrt(static_cast<double>(one.head_size));
  return made;
}

struct Gradients {
  Tensor query, key, value;
};

struct Rounding {
  double relative = 0;
  double absolute = 0;  // of the smallest numbers

  Tensor operator()(const Tensor& values) const { return values.abs() * relative + absolute; }
};

Rounding rounding_to(at::ScalarType type) {
  if (type == at::kHalf) return {std::ldexp(1, -11), std::ldexp(1, -25)};
  return {std::ldexp(1, -8), std::ldexp(1, -134)};
}

// The definition of attention, and bounds of the errors of gradients that were rounded once.
struct Reference {
  Tensor output, log_sum;
  Gradients gradients, bounds;
};

Reference define(const Case& one, const Inputs& in, const Rounding& rounding) {
  const Tensor query = in.query.to(at::kDouble), key = in.key.to(at::kDouble), value = in.value.to(at::kDouble),
               gradient = in.output_gradient.to(at::kDouble);
  Tensor scores = query.matmul(key.transpose(2, 3)) * in.scale;
  if (one.mask) scores = scores + in.mask.to(at::kDouble);
  if (one.is_causal)
    scores = scores.masked_fill(torch::ones({one.queries, one.keys}, at::kBool).tril().logical_not(),
                                -std::numeric_limits<double>::infinity());
  const Tensor weights = scores.softmax(3), output = weights.matmul(value);
  const Tensor of_scores = weights * (gradient.matmul(value.transpose(2, 3)) - (gradient * output).sum(3, true));
  const auto of_query = [&](const Tensor& from, const Tensor& by) { return from.matmul(by) * in.scale; };
  const auto of_key = [&](const Tensor& from, const Tensor& by) { return from.transpose(2, 3).matmul(by) * in.scale; };
  Reference made{output, scores.logsumexp(3), {}, {}};
  made.gradients = {of_query(of_scores, key), of_key(of_scores, query), weights.transpose(2, 3).matmul(gradient)};
  // The kernel reads the output after it was rounded. Its sums in float have at most keys + queries + head size terms.
  const Tensor of_output = weights * (gradient.abs() * rounding(output)).sum(3, true);
  const double of_sums =
      static_cast<double>(one.keys + one.queries + one.head_size) * std::numeric_limits<float>::epsilon();
  const Tensor sums = weights * (gradient.abs().matmul(value.abs().transpose(2, 3)) +
                                 (gradient.abs() * weights.matmul(value.abs())).sum(3, true));
  const Tensor error = of_output + of_sums * sums;
  made.bounds = {rounding(made.gradients.query) + of_query(error, key.abs()),
                 rounding(made.gradients.key) + of_key(error, query.abs()),
                 rounding(made.gradients.value) + of_sums * weights.transpose(2, 3).matmul(gradient.abs())};
  return made;
}

Gradients compute(const Case& one, const Inputs& in, const Tensor& output, const Tensor& log_sum,
                  const auto& attention_backward) {
  const auto [of_query, of_key, of_value] =
      attention_backward(in.output_gradient, in.query, in.key, in.value, output, log_sum, 0, one.is_causal,
                         one.mask ? std::optional(in.mask) : std::nullopt, in.scale);
  return {of_query, of_key, of_value};
}

// Calls the operator as autograd does.
Gradients compute(const Case& one, const Inputs& in, const Tensor& output, const Tensor& log_sum) {
  return compute(one, in, output, log_sum, [](const auto&... arguments) {
    return at::_scaled_dot_product_flash_attention_for_cpu_backward(arguments...);
  });
}

// The largest error as a share of its bound.
double compare(const Tensor& computed, const Tensor& value, const Tensor& bound) {
  return ((computed.to(at::kDouble) - value).abs() / bound).max().item<double>();
}

bool is_equal(const Gradients& one, const Gradients& other) {
  return one.query.equal(other.query) && one.key.equal(other.key) && one.value.equal(other.value);
}

}  // namespace

TEST_CASE("the backward of attention rounds only its results for short sequences") {
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
    for (const Case& one : kSmall) {
      if (one.mask == at::kBFloat16 && type == at::kHalf) continue;
      CAPTURE(at::toString(type));
      CAPTURE(one.queries);
      CAPTURE(one.keys);
      CAPTURE(one.head_size);
      const Inputs inputs = make_inputs(one, type);
      const Reference expected = define(one, inputs, rounding_to(type));
      const Gradients computed = compute(one, inputs, expected.output.to(type), expected.log_sum.to(at::kFloat));
      CHECK(computed.query.scalar_type() == type);
      CHECK(computed.key.scalar_type() == type);
      CHECK(computed.value.scalar_type() == type);
      CHECK(compare(computed.query, expected.gradients.query, expected.bounds.query) <= 1);
      CHECK(compare(computed.key, expected.gradients.key, expected.bounds.key) <= 1);
      CHECK(compare(computed.value, expected.gradients.value, expected.bounds.value) <= 1);
    }
  }
}

TEST_CASE("attention in a model has the replaced backward") {
  const Case one{2, 3, 33, 33, 16};
  const Inputs inputs = make_inputs(one, at::kBFloat16);
  const auto [output, log_sum] =
      at::_scaled_dot_product_flash_attention_for_cpu(inputs.query, inputs.key, inputs.value);
  const Gradients expected = compute(one, inputs, output, log_sum, tenon::operators::attention_backward);
  const Tensor query = inputs.query.detach().requires_grad_(), key = inputs.key.detach().requires_grad_(),
               value = inputs.value.detach().requires_grad_();
  at::scaled_dot_product_attention(query, key, value).backward(inputs.output_gradient);
  CHECK(is_equal({query.grad(), key.grad(), value.grad()}, expected));
}

TEST_CASE("the backward of attention has the same bits with any number of threads") {
  const int threads = at::get_num_threads();
  for (const Case& one : kSmall) {
    const Inputs inputs = make_inputs(one, at::kBFloat16);
    const Reference of = define(one, inputs, rounding_to(at::kBFloat16));
    std::vector<Gradients> found;
    for (const int number : {1, 3}) {
      at::set_num_threads(number);
      found.push_back(compute(one, inputs, of.output.to(at::kBFloat16), of.log_sum.to(at::kFloat)));
    }
    CHECK(is_equal(found[0], found[1]));
  }
  at::set_num_threads(threads);
}

TEST_CASE("the backward of attention of long sequences and in float is LibTorch's") {
  for (const auto& [one, type] :
       std::vector<std::pair<Case, at::ScalarType>>{{{1, 2, 800, 800, 64, true}, at::kBFloat16},
                                                    {{1, 2, 100, 600, 64}, at::kHalf},
                                                    {{1, 2, 20, 20, 8}, at::kFloat}}) {
    const Inputs inputs = make_inputs(one, type);
    const Reference of = define(one, inputs, rounding_to(type));
    const Tensor output = of.output.to(type), log_sum = of.log_sum.to(at::kFloat);
    CHECK(
        is_equal(compute(one, inputs, output, log_sum),
                 compute(one, inputs, output, log_sum, at::native::_scaled_dot_product_flash_attention_cpu_backward)));
  }
}

TEST_CASE("the backward of attention refuses what LibTorch refuses") {
  const Case one{1, 2, 5, 5, 8};
  Inputs inputs = make_inputs(one, at::kBFloat16);
  const Tensor output = inputs.query.clone(), log_sum = torch::zeros({1, 2, 5});
  inputs.value = torch::randn({1, 2, 5, 16}).to(at::kBFloat16);
  CHECK_THROWS_WITH_AS(compute(one, inputs, output, log_sum), doctest::Contains("same head size"), c10::Error);
}
