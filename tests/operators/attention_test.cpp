// Compares attention and its gradients with the definition in double precision.
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward_native.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_native.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "framework/operators/attention_kernels.h"
#include "framework/operators/batch_norm.h"
#include "framework/operators/for_each_part.h"
#include "framework/operators/replaced_operators.h"
#include "tests/doctest_with_torch.h"

namespace attention_test {

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

// Those that the loops for float compute.
const std::vector<Case> kFloat = {
    {2, 3, 64, 64, 32, true}, {2, 3, 17, 17, 16},
    {3, 2, 40, 90, 32},       {1, 2, 90, 40, 8, true},
    {1, 2, 40, 90, 20, true}, {1, 2, 65, 65, 64, false, at::kFloat},
    {2, 1, 8, 3, 5},          {1, 1, 150, 150, 40, true, at::kFloat},
    {1, 1, 33, 1000, 60},     {1, 1, 31, 70, 128},
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
  if (type == at::kFloat) return {std::ldexp(1, -24), std::ldexp(1, -150)};
  if (type == at::kHalf) return {std::ldexp(1, -11), std::ldexp(1, -25)};
  return {std::ldexp(1, -8), std::ldexp(1, -134)};
}

// The definition of attention, and bounds of the errors where sums in float were rounded once.
struct Reference {
  Tensor output, log_sum;
  Tensor output_bound, log_sum_bound;
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
  const Tensor differences = gradient.matmul(value.transpose(2, 3)) - (gradient * output).sum(3, true),
               of_scores = weights * differences;
  const auto of_query = [&](const Tensor& from, const Tensor& by) { return from.matmul(by) * in.scale; };
  const auto of_key = [&](const Tensor& from, const Tensor& by) { return from.transpose(2, 3).matmul(by) * in.scale; };
  Reference made{output, scores.logsumexp(3), {}, {}, {}, {}};
  made.gradients = {of_query(of_scores, key), of_key(of_scores, query), weights.transpose(2, 3).matmul(gradient)};
  constexpr double kEpsilon = std::numeric_limits<float>::epsilon();
  const double of_sums = static_cast<double>(one.keys + one.queries + one.head_size) * kEpsilon;
  // The error of a score is that of a sum of head size products, of the mask and of the logarithm. It is the relative
  // error of exp(), which itself has few roundings.
  Tensor sizes = query.abs().matmul(key.abs().transpose(2, 3)) * in.scale;
  if (one.mask) sizes = sizes + in.mask.to(at::kDouble).abs();
  const Tensor of_weights =
      weights *
      ((static_cast<double>(one.head_size) + 4) * kEpsilon * (sizes + made.log_sum.abs().unsqueeze(3)) + 8 * kEpsilon);
  const Tensor of_row = of_weights.sum(3, true) + of_sums;  // the relative error of a sum of exponentials
  made.log_sum_bound = of_row.squeeze(3) + 4 * kEpsilon * (made.log_sum.abs() + scores.amax(3).abs());
  made.output_bound =
      rounding(output) + (of_weights + weights * of_row).matmul(value.abs()) + of_sums * weights.matmul(value.abs());
  // The backward reads the output after it was rounded.
  const Tensor of_output = weights * (gradient.abs() * rounding(output)).sum(3, true);
  const Tensor sums = weights * (gradient.abs().matmul(value.abs().transpose(2, 3)) +
                                 (gradient.abs() * weights.matmul(value.abs())).sum(3, true));
  const Tensor error = of_output + of_sums * sums + of_weights * differences.abs();
  made.bounds = {
      rounding(made.gradients.query) + of_query(error, key.abs()),
      rounding(made.gradients.key) + of_key(error, query.abs()),
      rounding(made.gradients.value) + (of_weights + of_sums * weights).transpose(2, 3).matmul(gradient.abs())};
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

using tenon::operators::AttentionHead;
using tenon::operators::AttentionKernels;
using tenon::operators::Rows;

Rows<float> rows_of(const Tensor& tensor, int64_t sample, int64_t head) {
  return {tensor[sample][head].mutable_data_ptr<float>(), tensor.stride(2)};
}

Rows<const float> read_rows(const Tensor& tensor, int64_t sample, int64_t head) {
  const Rows<float> rows = rows_of(tensor, sample, head);
  return {rows.data, rows.distance};
}

AttentionHead head_of(const Case& one, const Inputs& in, int64_t sample, int64_t head) {
  const Rows<const float> mask = one.mask ? read_rows(in.mask, sample, 0) : Rows<const float>{};
  return {one.queries,
          one.keys,
          one.head_size,
          read_rows(in.query, sample, head),
          read_rows(in.key, sample, head),
          read_rows(in.value, sample, head),
          mask,
          1,
          static_cast<float>(in.scale),
          one.is_causal};
}

// Calls a kernel for each head. A workspace begins with NaN, so values that were not written are seen.
void call_for_each(const Case& one, int64_t workspace, const auto& call) {
  for (int64_t sample = 0; sample < one.batch; ++sample)
    for (int64_t head = 0; head < one.heads; ++head) {
      const Tensor floats = torch::full({workspace}, std::numeric_limits<float>::quiet_NaN());
      call(sample, head, floats.mutable_data_ptr<float>());
    }
}

std::pair<Tensor, Tensor> compute_by(const AttentionKernels& kernels, const Case& one, const Inputs& in) {
  const Tensor output = torch::empty(in.query.sizes()), log_sum = torch::empty({one.batch, one.heads, one.queries, 1});
  const int64_t workspace = tenon::operators::attention_workspace(one.keys, one.head_size);
  call_for_each(one, workspace, [&](int64_t sample, int64_t head, float* floats) {
    kernels.compute(head_of(one, in, sample, head), 0, one.queries, floats,
                    {rows_of(output, sample, head), rows_of(log_sum, sample, head)});
  });
  return {output, log_sum.squeeze(3)};
}

Gradients compute_by(const AttentionKernels& kernels, const Case& one, const Inputs& in, const Tensor& output,
                     const Tensor& log_sum) {
  const Gradients made{torch::empty(in.query.sizes()), torch::empty(in.key.sizes()), torch::empty(in.value.sizes())};
  const Tensor rows = log_sum.unsqueeze(3);
  const int64_t workspace = tenon::operators::attention_backward_workspace(one.keys, one.head_size);
  call_for_each(one, workspace, [&](int64_t sample, int64_t head, float* floats) {
    kernels.propagate(
        head_of(one, in, sample, head), floats,
        {read_rows(in.output_gradient, sample, head), read_rows(output, sample, head), read_rows(rows, sample, head),
         rows_of(made.query, sample, head), rows_of(made.key, sample, head), rows_of(made.value, sample, head)});
  });
  return made;
}

// The largest error as a share of its bound.
double compare(const Tensor& computed, const Tensor& value, const Tensor& bound) {
  return ((computed.to(at::kDouble) - value).abs() / bound).max().item<double>();
}

void check_gradients(const Gradients& computed, const Reference& expected) {
  CHECK(compare(computed.query, expected.gradients.query, expected.bounds.query) <= 1);
  CHECK(compare(computed.key, expected.gradients.key, expected.bounds.key) <= 1);
  CHECK(compare(computed.value, expected.gradients.value, expected.bounds.value) <= 1);
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
      check_gradients(computed, expected);
    }
  }
}

TEST_CASE("attention in float with each instruction set is its definition") {
  for (const AttentionKernels* kernels : tenon::operators::all_attention_kernels()) {
    for (const Case& one : kFloat) {
      CAPTURE(one.queries);
      CAPTURE(one.keys);
      CAPTURE(one.head_size);
      CAPTURE(one.is_causal);
      const Inputs inputs = make_inputs(one, at::kFloat);
      const Reference expected = define(one, inputs, rounding_to(at::kFloat));
      const auto [output, log_sum] = compute_by(*kernels, one, inputs);
      CHECK(compare(output, expected.output, expected.output_bound) <= 1);
      CHECK(compare(log_sum, expected.log_sum, expected.log_sum_bound) <= 1);
      const Gradients found =
          compute_by(*kernels, one, inputs, expected.output.to(at::kFloat), expected.log_sum.to(at::kFloat));
      check_gradients(found, expected);
    }
  }
}

TEST_CASE("attention in a model is the replaced one") {
  for (const Case& one : kFloat) {
    if (one.mask) continue;
    const Inputs inputs = make_inputs(one, at::kFloat);
    const auto [output, log_sum] = compute_by(tenon::operators::attention_kernels(), one, inputs);
    const Gradients expected = compute_by(tenon::operators::attention_kernels(), one, inputs, output, log_sum);
    const Tensor query = inputs.query.detach().requires_grad_(), key = inputs.key.detach().requires_grad_(),
                 value = inputs.value.detach().requires_grad_();
    const Tensor found = at::scaled_dot_product_attention(query, key, value, {}, 0, one.is_causal);
    found.backward(inputs.output_gradient);
    CHECK(found.equal(output));
    CHECK(is_equal({query.grad(), key.grad(), value.grad()}, expected));
  }
}

TEST_CASE("attention has the strides of LibTorch's results") {
  const Case one{2, 3, 64, 64, 32};
  Inputs in = make_inputs(one, at::kFloat);
  const Tensor as_split = in.query;
  for (const Tensor& query :
       {as_split, as_split.contiguous(), as_split.permute({2, 0, 1, 3}).contiguous().permute({1, 2, 0, 3}),
        as_split.slice(0, 0, 1).expand_as(as_split)}) {
    CAPTURE(query.strides());
    in.query = query;
    const auto [output, log_sum] = at::_scaled_dot_product_flash_attention_for_cpu(query, in.key, in.value);
    const auto [output_, log_sum_] = at::native::_scaled_dot_product_flash_attention_cpu(query, in.key, in.value);
    CHECK(output.strides() == output_.strides());
    CHECK(log_sum.strides() == log_sum_.strides());
    const Reference reference = define(one, in, rounding_to(at::kFloat));
    CHECK(compare(output, reference.output, reference.output_bound) <= 1);
    const Gradients found = compute(one, in, output, log_sum);
    const Gradients expected =
        compute(one, in, output, log_sum, at::native::_scaled_dot_product_flash_attention_cpu_backward);
    CHECK(found.query.strides() == expected.query.strides());
    CHECK(found.key.strides() == expected.key.strides());
    CHECK(found.value.strides() == expected.value.strides());
  }
}

TEST_CASE("attention of many queries has the bits of its slices") {
  for (const Case& one : {Case{1, 2, 600, 70, 32}, Case{1, 1, 520, 520, 16, true}}) {
    const Inputs in = make_inputs(one, at::kFloat);
    const auto [output, log_sum] = compute_by(tenon::operators::attention_kernels(), one, in);
    const auto [output_, log_sum_] =
        at::_scaled_dot_product_flash_attention_for_cpu(in.query, in.key, in.value, 0, one.is_causal, {}, in.scale);
    CHECK(output_.equal(output));
    CHECK(log_sum_.equal(log_sum));
  }
}

TEST_CASE("attention in a part of other parallel work has the same bits") {
  const int threads = at::get_num_threads();
  at::set_num_threads(4);
  const Case& one = kFloat[0];
  const Inputs in = make_inputs(one, at::kFloat);
  const auto compute_all = [&] {
    const auto [output, log_sum] = at::_scaled_dot_product_flash_attention_for_cpu(in.query, in.key, in.value);
    const Gradients gradients = compute(one, in, output, log_sum);
    return std::vector{output, log_sum, gradients.query, gradients.key, gradients.value};
  };
  const std::vector<Tensor> expected = compute_all();
  std::vector<std::vector<Tensor>> found(8);
  tenon::operators::for_each_part(8, 1, [&](int64_t part) { found[static_cast<size_t>(part)] = compute_all(); });
  for (const std::vector<Tensor>& results : found)
    for (size_t i = 0; i < expected.size(); ++i) CHECK(results[i].equal(expected[i]));
  at::set_num_threads(threads);
}

TEST_CASE("attention accepts masks that are repeated along their dimensions") {
  Case one{2, 3, 20, 24, 16, false, at::kFloat};
  Inputs in = make_inputs(one, at::kFloat);
  const Tensor full = torch::randn({2, 3, 20, 24});
  for (const Tensor& mask :
       {full, full.slice(0, 0, 1), full.slice(1, 0, 1), full.slice(2, 0, 1), full.slice(3, 0, 1), full[0][0],
        full[0][0].slice(0, 0, 1), full.transpose(2, 3).contiguous().transpose(2, 3)}) {
    CAPTURE(mask.sizes());
    in.mask = mask;
    const Reference expected = define(one, in, rounding_to(at::kFloat));
    const auto [output, log_sum] =
        at::_scaled_dot_product_flash_attention_for_cpu(in.query, in.key, in.value, 0, false, mask, in.scale);
    CHECK(compare(output, expected.output, expected.output_bound) <= 1);
    const Gradients found = compute(one, in, expected.output.to(at::kFloat), expected.log_sum.to(at::kFloat));
    check_gradients(found, expected);
  }
}

TEST_CASE("queries that see no key, and numbers that are not finite, have LibTorch's results") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();
  Case one{1, 1, 20, 24, 16, false, at::kFloat};
  Inputs in = make_inputs(one, at::kFloat);
  in.mask = in.mask.clone();
  in.mask[0][0][3].fill_(-kInfinity);
  in.mask[0][0][4].slice(0, 2, 20).fill_(-kInfinity);
  in.query = in.query.clone();
  in.query[0][0][7][2] = kNaN;
  in.query[0][0][9][1] = kInfinity;
  in.query[0][0][11].fill_(3e38F);
  const auto compute_attention = [&](const auto& attention) {
    return attention(in.query, in.key, in.value, 0, false, std::optional(in.mask), std::optional(in.scale));
  };
  const auto [output, log_sum] = compute_attention(tenon::operators::attention);
  const auto [output_, log_sum_] = compute_attention(at::native::_scaled_dot_product_flash_attention_cpu);
  CHECK(output[0][0][3].eq(0).all().item<bool>());
  CHECK(log_sum[0][0][3].item<float>() == 0);
  CHECK(output.isnan().equal(output_.isnan()));
  const Gradients found = compute(one, in, output_, log_sum_);
  const Gradients expected =
      compute(one, in, output_, log_sum_, at::native::_scaled_dot_product_flash_attention_cpu_backward);
  CHECK(found.query[0][0][3].eq(0).all().item<bool>());
  CHECK(found.query.isnan().equal(expected.query.isnan()));
  CHECK(found.key.isnan().equal(expected.key.isnan()));
  CHECK(found.value.isnan().equal(expected.value.isnan()));
}

TEST_CASE("the gradient of a sum of attention is read with its strides") {
  const Inputs in = make_inputs(kFloat[0], at::kFloat);
  const auto find = [&](const Tensor& gradient) {
    const Tensor query = in.query.detach().requires_grad_();
    at::scaled_dot_product_attention(query, in.key, in.value).backward(gradient);
    return query.grad();
  };
  CHECK(find(torch::ones({1}).expand(in.query.sizes())).equal(find(torch::ones_like(in.query))));
}

TEST_CASE("attention in a model has the replaced backward in bfloat16") {
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

TEST_CASE("attention and its backward have the same bits with any number of threads") {
  const int threads = at::get_num_threads();
  for (const auto& [cases, type] : {std::pair(&kSmall, at::kBFloat16), std::pair(&kFloat, at::kFloat)}) {
    for (const Case& one : *cases) {
      const Inputs inputs = make_inputs(one, type);
      std::vector<Tensor> outputs;
      std::vector<Gradients> gradients;
      const std::optional<Tensor> mask = one.mask ? std::optional(inputs.mask.to(type)) : std::nullopt;
      for (const int number : {1, 3}) {
        at::set_num_threads(number);
        const auto [output, log_sum] = at::_scaled_dot_product_flash_attention_for_cpu(
            inputs.query, inputs.key, inputs.value, 0, one.is_causal, mask, inputs.scale);
        outputs.push_back(output);
        gradients.push_back(compute(one, inputs, output, log_sum));
      }
      CHECK(outputs[0].equal(outputs[1]));
      CHECK(is_equal(gradients[0], gradients[1]));
    }
  }
  at::set_num_threads(threads);
}

TEST_CASE("attention of long sequences, of few queries and of other types is LibTorch's") {
  for (const auto& given : std::vector<std::pair<Case, at::ScalarType>>{{{1, 2, 800, 800, 64, true}, at::kBFloat16},
                                                                        {{1, 2, 100, 2000, 128}, at::kHalf},
                                                                        {{1, 2, 3, 40, 8}, at::kFloat},
                                                                        {{1, 1, 64, 1100, 16}, at::kFloat},
                                                                        {{1, 1, 100, 128, 256}, at::kBFloat16},
                                                                        {{1, 1, 20, 20, 48}, at::kFloat},
                                                                        {{1, 2, 20, 20, 8}, at::kDouble}}) {
    const Case& one = given.first;
    const at::ScalarType type = given.second;
    CAPTURE(one.keys);
    const Inputs inputs = make_inputs(one, type);
    const auto [output, log_sum] =
        at::_scaled_dot_product_flash_attention_for_cpu(inputs.query, inputs.key, inputs.value, 0, one.is_causal);
    const auto [output_, log_sum_] =
        at::native::_scaled_dot_product_flash_attention_cpu(inputs.query, inputs.key, inputs.value, 0, one.is_causal);
    CHECK(output.equal(output_));
    CHECK(log_sum.equal(log_sum_));
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

}  // namespace attention_test
