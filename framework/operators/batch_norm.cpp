#include "framework/operators/batch_norm.h"

#include <ATen/ops/batch_norm_native.h>
#include <torch/autograd.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/library.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "framework/operators/channel_kernels.h"
#include "framework/operators/for_each_part.h"
#include "framework/operators/replaced_operators.h"
#include "framework/support/compute/torch_versions.h"

namespace tenon::operators {

namespace {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

// The rows of a batch of images, in parts that threads can process. The parts do not depend on the number of threads,
// and so neither do sums over them. A part has enough rows that merging the sums of the parts takes little.
struct Rows {
  int64_t count;
  int64_t channels;
  int64_t parts;

  explicit Rows(const at::Tensor& x)
      : count(x.numel() / x.size(1)),
        channels(x.size(1)),
        parts(std::clamp<int64_t>(std::min(x.numel() / 1024, count / 32), 1, 64)) {}

  // Calls visit(part, offset of its first element, its rows) for each part, on LibTorch's operator threads.
  template <typename Visit>
  void visit(const Visit& visit) const {
    for_each_part(parts, std::max<int64_t>(1, parts * 8192 / (count * channels)), [&](int64_t part) {
      const int64_t first = count * part / parts;
      visit(static_cast<size_t>(part), first * channels, count * (part + 1) / parts - first);
    });
  }
};

at::Tensor make_floats(int64_t channels) { return at::empty({channels}, at::kFloat); }

std::vector<float> to_floats(const at::Tensor& tensor, int64_t channels, float otherwise) {
  if (!tensor.defined()) return std::vector<float>(static_cast<size_t>(channels), otherwise);
  const float* values = tensor.const_data_ptr<float>();
  return {values, values + channels};
}

// The values by which one batch is normalised.
struct Normalisation {
  at::Tensor mean;               // [C] float32
  at::Tensor inverse_deviation;  // [C] float32
  std::vector<float> scale, shift;

  Normalisation(at::Tensor mean_, at::Tensor inverse_deviation_, const at::Tensor& weight, const at::Tensor& bias)
      : mean(std::move(mean_)),
        inverse_deviation(std::move(inverse_deviation_)),
        scale(to_floats(weight, mean.numel(), 1)),
        shift(to_floats(bias, mean.numel(), 0)) {
    for (size_t c = 0; c < scale.size(); ++c) {
      scale[c] *= inverse_deviation.const_data_ptr<float>()[c];
      shift[c] -= scale[c] * mean.const_data_ptr<float>()[c];
    }
  }

  ChannelScales scales() const { return {scale.data(), shift.data()}; }
};

template <typename T>
T* elements(const at::Tensor& tensor) {
  return static_cast<T*>(tensor.data_ptr());
}

struct Statistics {
  at::Tensor mean, inverse_deviation;
};

// Also updates the running statistics, if there are any.
template <typename T>
Statistics measure(const at::Tensor& input, const at::Tensor& running_mean, const at::Tensor& running_variance,
                   double momentum, double epsilon) {
  const Rows rows(input);
  const auto channels = static_cast<size_t>(rows.channels);
  const auto parts = static_cast<size_t>(rows.parts);
  std::vector<double> means(parts * channels), squares(parts * channels), counts(parts);
  rows.visit([&](size_t part, int64_t offset, int64_t count) {
    ChannelMoments moments{0, &means[part * channels], &squares[part * channels]};
    channel_kernels<T>().measure(elements<const T>(input) + offset, count, rows.channels, moments);
    counts[part] = moments.count;
  });
  ChannelMoments all{counts[0], means.data(), squares.data()};
  for (size_t part = 1; part < parts; ++part)
    merge_moments(all, counts[part], &means[part * channels], &squares[part * channels], rows.channels);
  Statistics found = {make_floats(rows.channels), make_floats(rows.channels)};
  const double count = all.count;
  for (size_t c = 0; c < channels; ++c) {
    found.mean.mutable_data_ptr<float>()[c] = static_cast<float>(means[c]);
    found.inverse_deviation.mutable_data_ptr<float>()[c] =
        static_cast<float>(1 / std::sqrt(squares[c] / count + epsilon));
    const auto move = [&](const at::Tensor& running, double value) {
      if (!running.defined()) return;
      float& kept = running.mutable_data_ptr<float>()[c];
      kept = static_cast<float>((1 - momentum) * kept + momentum * value);
    };
    move(running_mean, means[c]);
    move(running_variance, squares[c] / (count - 1));
  }
  return found;
}

template <typename T>
at::Tensor normalise(const at::Tensor& input, const Normalisation& by) {
  const Rows rows(input);
  at::Tensor output = at::empty_like(input, at::MemoryFormat::ChannelsLast);
  rows.visit([&](size_t, int64_t offset, int64_t count) {
    channel_kernels<T>().normalise(elements<const T>(input) + offset, elements<T>(output) + offset, count,
                                   rows.channels, by.scales());
  });
  return output;
}

struct InputGradients {
  at::Tensor input, weight, bias;
};

template <typename T>
InputGradients propagate(const at::Tensor& gradient, const at::Tensor& input, const Normalisation& by,
                         bool is_followed_by_relu) {
  const Rows rows(input);
  const auto channels = static_cast<size_t>(rows.channels);
  const ChannelScales scales = by.scales();
  const ChannelScales* mask = is_followed_by_relu ? &scales : nullptr;
  const auto* mean = by.mean.const_data_ptr<float>();
  const auto* inverse_deviation = by.inverse_deviation.const_data_ptr<float>();
  const auto parts = static_cast<size_t>(rows.parts);
  std::vector<double> sums(parts * channels), products(parts * channels);
  rows.visit([&](size_t part, int64_t offset, int64_t count) {
    const size_t place = part * channels;
    channel_kernels<T>().add_sums(elements<const T>(gradient) + offset, elements<const T>(input) + offset, count,
                                  rows.channels, mean, mask, &sums[place], &products[place]);
  });
  InputGradients result = {at::empty_like(input, at::MemoryFormat::ChannelsLast), make_floats(rows.channels),
                           make_floats(rows.channels)};
  std::vector<float> offset_by(channels), slope(channels);
  const auto count = static_cast<double>(rows.count);
  for (size_t c = 0; c < channels; ++c) {
    double sum = 0, product = 0;
    for (size_t part = 0; part < parts; ++part) {
      sum += sums[part * channels + c];
      product += products[part * channels + c];
    }
    const double inverse = inverse_deviation[c];
    result.bias.mutable_data_ptr<float>()[c] = static_cast<float>(sum);
    result.weight.mutable_data_ptr<float>()[c] = static_cast<float>(product * inverse);
    offset_by[c] = static_cast<float>(sum / count);
    slope[c] = static_cast<float>(product * inverse * inverse / count);
  }
  const ChannelGradients gradients = {by.scale.data(), mean, offset_by.data(), slope.data()};
  rows.visit([&](size_t, int64_t offset, int64_t number) {
    channel_kernels<T>().propagate(elements<const T>(gradient) + offset, elements<const T>(input) + offset,
                                   elements<T>(result.input) + offset, number, rows.channels, gradients, mask);
  });
  return result;
}

// The backward of batch_norm, or of batch_norm and relu_.
class BatchNormBackward final : public torch::autograd::Node {
 public:
  BatchNormBackward(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias, Statistics statistics,
                    double epsilon, bool is_followed_by_relu)
      : Node(torch::autograd::collect_next_edges(input, weight, bias)),
        input_(input, /*is_output=*/false),
        weight_(weight, /*is_output=*/false),
        bias_(bias, /*is_output=*/false),
        statistics_(std::move(statistics)),
        epsilon_(epsilon),
        is_followed_by_relu_(is_followed_by_relu) {}

  // Returns null if the values of the forward are gone, or if a relu_ is included already.
  support::NodePointer with_relu() const {
    if (is_followed_by_relu_ || is_released_) return {};
    return support::make_node<BatchNormBackward>(input_.unpack(), weight_.unpack(), bias_.unpack(), statistics_,
                                                 epsilon_, /*is_followed_by_relu=*/true);
  }

  std::string name() const override { return is_followed_by_relu_ ? "BatchNormReluBackward" : "BatchNormBackward"; }

  void release_variables() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    input_.reset_data();
    weight_.reset_data();
    bias_.reset_data();
    is_released_ = true;
  }

 protected:
  variable_list apply(variable_list&& gradients) override {
    if (!gradients[0].defined()) return variable_list(3);
    const std::lock_guard<std::mutex> lock(mutex_);
    const at::Tensor input = input_.unpack(), weight = weight_.unpack(), bias = bias_.unpack();
    // A backward of this backward needs LibTorch's operators.
    if (at::GradMode::is_enabled()) return differentiable_gradients(gradients[0], input, weight, bias);
    const at::Tensor gradient = gradients[0].contiguous(at::MemoryFormat::ChannelsLast);
    const Normalisation by(statistics_.mean, statistics_.inverse_deviation, weight, bias);
    InputGradients found = input.scalar_type() == at::kFloat
                               ? propagate<float>(gradient, input, by, is_followed_by_relu_)
                               : propagate<Bf16>(gradient, input, by, is_followed_by_relu_);
    return {found.input, weight.defined() ? found.weight : at::Tensor(), bias.defined() ? found.bias : at::Tensor()};
  }

 private:
  variable_list differentiable_gradients(const at::Tensor& given, const at::Tensor& input, const at::Tensor& weight,
                                         const at::Tensor& bias) const {
    const auto [output, mean, inverse_deviation] =
        at::native_batch_norm(input, weight, bias, {}, {}, /*training=*/true, /*momentum=*/0, epsilon_);
    const at::Tensor gradient = is_followed_by_relu_ ? at::threshold_backward(given, output, 0) : given;
    const auto [of_input, of_weight, of_bias] = at::native_batch_norm_backward(
        gradient, input, weight, {}, {}, mean, inverse_deviation, /*train=*/true, epsilon_, {true, true, true});
    return {of_input, weight.defined() ? of_weight : at::Tensor(), bias.defined() ? of_bias : at::Tensor()};
  }

  SavedVariable input_, weight_, bias_;
  Statistics statistics_;
  double epsilon_;
  bool is_followed_by_relu_;
  bool is_released_ = false;
};

// The kernels do not check sizes. LibTorch's refuse a vector of another size.
bool is_float_vector(const at::Tensor& tensor, int64_t channels) {
  return !tensor.defined() || (tensor.scalar_type() == at::kFloat && tensor.is_cpu() && tensor.is_contiguous() &&
                               tensor.numel() == channels);
}

bool has_fast_kernel(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                     const at::Tensor& running_mean, const at::Tensor& running_variance) {
  if (!input.is_cpu() || input.dim() != 4) return false;
  const int64_t channels = input.size(1);
  return input.numel() > channels && (input.scalar_type() == at::kFloat || input.scalar_type() == at::kBFloat16) &&
         input.is_contiguous(at::MemoryFormat::ChannelsLast) && is_float_vector(weight, channels) &&
         is_float_vector(bias, channels) && is_float_vector(running_mean, channels) &&
         is_float_vector(running_variance, channels) && !input._fw_grad(0).defined();
}

at::Tensor normalise_images(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                            const at::Tensor& running_mean, const at::Tensor& running_variance, double momentum,
                            double epsilon) {
  const bool is_float = input.scalar_type() == at::kFloat;
  Statistics statistics;
  at::Tensor output;
  {
    const at::AutoDispatchBelowADInplaceOrView guard;
    statistics = is_float ? measure<float>(input, running_mean, running_variance, momentum, epsilon)
                          : measure<Bf16>(input, running_mean, running_variance, momentum, epsilon);
    const Normalisation by(statistics.mean, statistics.inverse_deviation, weight, bias);
    output = is_float ? normalise<float>(input, by) : normalise<Bf16>(input, by);
  }
  if (torch::autograd::compute_requires_grad(input, weight, bias))
    torch::autograd::set_history(
        output, support::make_node<BatchNormBackward>(input, weight, bias, std::move(statistics), epsilon,
                                                      /*is_followed_by_relu=*/false));
  return output;
}

bool is_frozen(const at::Tensor& running_mean) {
  const std::unordered_set<const void*>& frozen = batch_norm_hooks().frozen;
  return !frozen.empty() && running_mean.defined() && frozen.contains(running_mean.const_data_ptr());
}

// As torch.nn.functional.batch_norm does, which not every model calls. The variance of one value is undefined: the
// running variance would be NaN.
void require_several_values(const at::Tensor& input) {
  const bool has_one = input.dim() > 1 && input.numel() > 0 && input.numel() == input.size(1);
  TORCH_CHECK(!has_one, kOneValuePerChannel, ", got input size ", input.sizes());
}

at::Tensor batch_norm(const at::Tensor& input, const std::optional<at::Tensor>& weight_,
                      const std::optional<at::Tensor>& bias_, const std::optional<at::Tensor>& running_mean_,
                      const std::optional<at::Tensor>& running_variance_, bool training, double momentum,
                      double epsilon, bool cudnn_enabled) {
  const at::Tensor none;
  const at::Tensor &weight = weight_ ? *weight_ : none, &bias = bias_ ? *bias_ : none,
                   &running_mean = running_mean_ ? *running_mean_ : none,
                   &running_variance = running_variance_ ? *running_variance_ : none;
  const bool uses_batch = training && !is_frozen(running_mean);
  if (uses_batch) {
    if (const auto replacement = batch_norm_hooks().normalise)
      return replacement(input, weight, bias, running_mean, running_variance, momentum, epsilon);
    require_several_values(input);
    if (has_fast_kernel(input, weight, bias, running_mean, running_variance))
      return normalise_images(input, weight, bias, running_mean, running_variance, momentum, epsilon);
  }
  return at::native::batch_norm(input, weight_, bias_, running_mean_, running_variance_, uses_batch, momentum, epsilon,
                                cudnn_enabled);
}

// Returns the backward of the batch_norm that computed the tensor, if nothing has happened to the tensor since.
BatchNormBackward* batch_norm_of(const at::Tensor& tensor) {
  if (!tensor.requires_grad() || tensor.is_view() || tensor._version() != 0) return nullptr;
  if (tensor.retains_grad() || !torch::autograd::impl::hooks(tensor).empty()) return nullptr;
  return dynamic_cast<BatchNormBackward*>(tensor.grad_fn().get());
}

using ReluInPlace = at::Tensor&(at::Tensor&);

// relu_ below the key of a kernel: `keys` says which kernels are left.
at::Tensor& call_relu(c10::DispatchKeySet keys, at::Tensor& tensor) {
  static const auto relu = c10::Dispatcher::singleton().findSchemaOrThrow("aten::relu_", "").typed<ReluInPlace>();
  return relu.redispatch(keys, tensor);
}

at::Tensor& relu_in_place(c10::DispatchKeySet keys, at::Tensor& tensor) {
  const c10::DispatchKeySet below = keys & c10::after_autograd_keyset;
  const BatchNormBackward* before = at::GradMode::is_enabled() ? batch_norm_of(tensor) : nullptr;
  support::NodePointer joint = before ? before->with_relu() : support::NodePointer();
  // The replaced kernel is still that of AutogradOther, because LibTorch registers one for all autograd keys.
  if (!joint) return call_relu(below | c10::DispatchKeySet(c10::DispatchKey::AutogradOther), tensor);
  {
    const at::AutoDispatchBelowAutograd guard;
    call_relu(below, tensor);
  }
  joint->add_input_metadata(tensor);
  torch::autograd::impl::rebase_history(tensor, {std::move(joint), 0});
  return tensor;
}

TORCH_LIBRARY_IMPL(aten, AutogradCPU, library) {
  library.impl("batch_norm", TORCH_FN(batch_norm));
  library.impl("relu_", TORCH_FN(relu_in_place));
  library.impl("cross_entropy_loss", TORCH_FN(cross_entropy_loss));
}

// Registered here, in a file that every program links.
TORCH_LIBRARY_IMPL(aten, AutogradCUDA, library) {
  library.impl("batch_norm", TORCH_FN(batch_norm));
  library.impl("adaptive_avg_pool2d", TORCH_FN(adaptive_avg_pool2d));
  library.impl("nll_loss_nd", TORCH_FN(nll_loss_nd));
}

TORCH_LIBRARY_IMPL(aten, CPU, library) { library.impl("convolution_backward", TORCH_FN(convolution_backward)); }

// LibTorch warns when a kernel replaces one for the same dispatch key.
const torch::Library kAttention = [] {
  class Silent final : public c10::WarningHandler {
    void process(const c10::Warning&) override {}
  } silent;
  const c10::WarningUtils::WarningHandlerGuard guard(&silent);
  torch::Library library = MAKE_TORCH_LIBRARY_IMPL(aten, CPU);
  library.impl("_scaled_dot_product_flash_attention_for_cpu", TORCH_FN(attention));
  library.impl("_scaled_dot_product_flash_attention_for_cpu_backward", TORCH_FN(attention_backward));
  return library;
}();

}  // namespace

BatchNormHooks& batch_norm_hooks() {
  static BatchNormHooks hooks;
  return hooks;
}

}  // namespace tenon::operators
