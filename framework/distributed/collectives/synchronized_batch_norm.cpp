#include "framework/distributed/collectives/synchronized_batch_norm.h"

#include <torch/autograd.h>
#include <torch/types.h>

#include "framework/operators/batch_norm.h"
#include "framework/support/diagnostics/check.h"

namespace tenon::distributed {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Setting {
  ProcessGroup* group = nullptr;
  bool is_borrowed = false;
};
Setting setting;

// Returns all dimensions except the channels.
std::vector<int64_t> reduced_dims(const at::Tensor& input) {
  std::vector<int64_t> dims{0};
  for (int64_t i = 2; i < input.dim(); ++i) dims.push_back(i);
  return dims;
}

at::Tensor by_channel(const at::Tensor& values, const at::Tensor& input) {
  std::vector<int64_t> shape(static_cast<size_t>(input.dim()), 1);
  shape[1] = values.numel();
  return values.reshape(shape);
}

struct Statistics {
  at::Tensor mean;      // [C] float64
  at::Tensor variance;  // [C] float64, biased
  at::Tensor count;     // [] float64, number of elements per channel
};

// Uses double precision, so that the difference of two sums has no relevant rounding error.
Statistics gather_statistics(const at::Tensor& input) {
  const int64_t channels = input.size(1);
  const double count = static_cast<double>(input.numel()) / static_cast<double>(channels);
  const auto options = at::TensorOptions(input.device()).dtype(at::kDouble);
  at::Tensor sums = at::zeros({2 * channels + 1}, options);
  if (!setting.is_borrowed && input.numel() > 0) {
    auto [variance, mean] = at::var_mean(input, reduced_dims(input), /*unbiased=*/false, /*keepdim=*/false);
    const at::Tensor mean_here = mean.to(at::kDouble);
    sums.narrow(0, 0, channels).copy_(mean_here * count);
    sums.narrow(0, channels, channels).copy_((variance.to(at::kDouble) + mean_here.square()) * count);
    sums.narrow(0, 2 * channels, 1).fill_(count);
  }
  setting.group->reduce(Reduction::sum, sums);
  const at::Tensor all = sums.select(0, 2 * channels);
  const at::Tensor mean = sums.narrow(0, 0, channels) / all;
  return {mean, (sums.narrow(0, channels, channels) / all - mean.square()).clamp_min(0), all};
}

class Normalisation : public torch::autograd::Function<Normalisation> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const at::Tensor& weight,
                            const at::Tensor& bias, const at::Tensor& running_mean, const at::Tensor& running_variance,
                            double momentum, double epsilon) {
    const at::Tensor values = input.to(at::kFloat);
    const Statistics all = gather_statistics(values);
    // Not on a device, which would have to be waited for. There the running variance stays finite, see below.
    TORCH_CHECK(!all.count.is_cpu() || all.count.item<double>() != 1, operators::kOneValuePerChannel,
                ", got input size ", input.sizes(), " on one rank and none on the others");
    if (running_mean.defined()) {
      at::Tensor(running_mean).lerp_(all.mean.to(running_mean.scalar_type()), momentum);
      const at::Tensor unbiased = all.variance * all.count / (all.count - 1).clamp_min(1);
      at::Tensor(running_variance).lerp_(unbiased.to(running_variance.scalar_type()), momentum);
    }
    const at::Tensor mean = all.mean.to(at::kFloat);
    const at::Tensor variance = all.variance.to(at::kFloat);
    const at::Tensor inverse_deviation = (all.variance + epsilon).rsqrt().to(at::kFloat);
    context->save_for_backward({input, weight, mean, inverse_deviation, all.count});
    context->saved_data["is_borrowed"] = setting.is_borrowed;
    // Calls LibTorch's kernel for given statistics, as in evaluation.
    const auto as_float = [](const at::Tensor& tensor) { return tensor.defined() ? tensor.to(at::kFloat) : tensor; };
    const at::Tensor output =
        std::get<0>(at::native_batch_norm(values, as_float(weight), as_float(bias), mean, variance,
                                          /*training=*/false, momentum, epsilon));
    return output.to(input.scalar_type());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &input = saved[0], &weight = saved[1], &mean = saved[2], &inverse_deviation = saved[3];
    const at::Tensor gradient = gradients[0].to(at::kFloat);
    const at::Tensor normalised =
        (input.to(at::kFloat) - by_channel(mean, input)) * by_channel(inverse_deviation, input);
    const std::vector<int64_t> dims = reduced_dims(input);
    const at::Tensor sum = gradient.sum(dims);
    const at::Tensor product_sum = (gradient * normalised).sum(dims);

    at::Tensor sums = at::stack({sum, product_sum}).to(at::kDouble);
    const bool is_borrowed = context->saved_data["is_borrowed"].toBool();
    if (is_borrowed) sums.zero_();
    setting.group->reduce(Reduction::sum, sums);
    const at::Tensor means = (sums / saved[4]).to(at::kFloat);
    at::Tensor of_input =
        gradient - by_channel(means.select(0, 0), input) - normalised * by_channel(means.select(0, 1), input);
    // A borrowed batch does not affect the statistics.
    if (is_borrowed) of_input.zero_();
    of_input = of_input * by_channel(weight.defined() ? inverse_deviation * weight : inverse_deviation, input);
    const auto like_weight = [&weight](const at::Tensor& tensor) {
      return weight.defined() ? tensor.to(weight.scalar_type()) : at::Tensor();
    };
    return {of_input.to(input.scalar_type()), like_weight(product_sum), like_weight(sum), {}, {}, {}, {}};
  }
};

at::Tensor normalise(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                     const at::Tensor& running_mean, const at::Tensor& running_variance, double momentum,
                     double epsilon) {
  return Normalisation::apply(input, weight, bias, running_mean, running_variance, momentum, epsilon);
}

}  // namespace

SynchronizedBatchNorm::SynchronizedBatchNorm(ProcessGroup& group) {
  TENON_CHECK(!setting.group, "batch normalisation is already synchronised");
  setting = {&group, false};
  operators::batch_norm_hooks().normalise = normalise;
}

SynchronizedBatchNorm::~SynchronizedBatchNorm() {
  operators::batch_norm_hooks().normalise = nullptr;
  setting = {};
}

void SynchronizedBatchNorm::set_borrowed(bool is_borrowed) { setting.is_borrowed = is_borrowed; }

}  // namespace tenon::distributed
