#include "framework/operators/replaced_operators.h"

#include <ATen/ops/cross_entropy_loss_native.h>
#include <torch/autograd.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "framework/operators/for_each_part.h"
#include "framework/operators/softmax_kernels.h"
#include "framework/support/compute/torch_versions.h"

namespace tenon::operators {

namespace {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

constexpr int64_t kLogitsOfThread = 8192;

// Calls visit(first row, end) for parts of the rows, on LibTorch's operator threads if there are many logits.
template <typename Visit>
void visit_rows(const at::Tensor& logits, const Visit& visit) {
  const int64_t rows = logits.size(0), count = logits.numel();
  if (count < 2 * kLogitsOfThread) return visit(0, rows);
  const int64_t parts = std::min(rows, count / 1024);
  for_each_part(parts, std::max<int64_t>(1, parts * kLogitsOfThread / count),
                [&](int64_t part) { visit(rows * part / parts, rows * (part + 1) / parts); });
}

// What is the same for all rows.
struct Settings {
  bool is_mean;
  int64_t ignore_index;
  double label_smoothing;
};

// What the backward needs of a row's softmax.
struct RowSoftmax {
  float max, scale;
};

double loss_of(const LogitSums& sums, float logit, int64_t classes, double label_smoothing) {
  const double log_sum = std::log(sums.exponentials);
  double loss = log_sum - (static_cast<double>(logit) - static_cast<double>(sums.max));
  if (label_smoothing > 0) {
    const double mean = log_sum - sums.differences / static_cast<double>(classes);
    loss = (1 - label_smoothing) * loss + label_smoothing * mean;
  }
  return loss;
}

class CrossEntropyBackward final : public torch::autograd::Node {
 public:
  CrossEntropyBackward(const at::Tensor& logits, const at::Tensor& target, const Settings& settings, int64_t divisor,
                       std::vector<RowSoftmax> rows)
      : Node(torch::autograd::collect_next_edges(logits)),
        logits_(logits, /*is_output=*/false),
        target_(target, /*is_output=*/false),
        settings_(settings),
        divisor_(divisor),
        rows_(std::move(rows)) {}

  std::string name() const override { return "CrossEntropyBackward"; }

  void release_variables() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    logits_.reset_data();
    target_.reset_data();
    rows_.clear();
  }

 protected:
  variable_list apply(variable_list&& gradients) override {
    if (!gradients[0].defined()) return variable_list(1);
    const std::lock_guard<std::mutex> lock(mutex_);
    const at::Tensor logits = logits_.unpack(), target = target_.unpack();
    // A backward of this backward needs LibTorch's operators.
    return {at::GradMode::is_enabled() ? differentiable_gradient(gradients[0], logits, target)
                                       : gradient_of(gradients[0], logits, target)};
  }

 private:
  double smoothing_share(const at::Tensor& logits) const {
    return settings_.label_smoothing / static_cast<double>(logits.size(1));
  }

  at::Tensor gradient_of(const at::Tensor& given, const at::Tensor& logits, const at::Tensor& target) const {
    const int64_t classes = logits.size(1);
    const float factor = given.item<float>() / static_cast<float>(divisor_);
    const auto share = static_cast<float>(smoothing_share(logits));
    const auto rest = static_cast<float>(1 - settings_.label_smoothing) * factor;
    at::Tensor result = at::empty_like(logits);
    const auto* const x = logits.const_data_ptr<float>();
    const auto* const targets = target.const_data_ptr<int64_t>();
    auto* const written = result.mutable_data_ptr<float>();
    visit_rows(logits, [&](int64_t first, int64_t end) {
      for (int64_t row = first; row < end; ++row) {
        const RowSoftmax& softmax = rows_[static_cast<size_t>(row)];
        const bool is_ignored = targets[row] == settings_.ignore_index;
        const LogitGradient gradient{softmax.max, softmax.scale, is_ignored ? 0 : factor, share};
        softmax_kernels().propagate(x + row * classes, classes, gradient, written + row * classes);
        if (!is_ignored) written[row * classes + targets[row]] -= rest;
      }
    });
    return result;
  }

  at::Tensor differentiable_gradient(const at::Tensor& given, const at::Tensor& logits,
                                     const at::Tensor& target) const {
    const at::Tensor is_ignored = target.eq(settings_.ignore_index);
    const at::Tensor places = target.masked_fill(is_ignored, 0).unsqueeze(1);
    const at::Tensor factors =
        is_ignored.logical_not().to(logits.scalar_type()).div(std::max<int64_t>(divisor_, 1)).unsqueeze(1);
    const at::Tensor expected =
        at::full_like(logits, smoothing_share(logits))
            .scatter_add(1, places, at::full_like(places, 1 - settings_.label_smoothing, logits.options()));
    return given * factors * (at::softmax(logits, 1) - expected);
  }

  SavedVariable logits_, target_;
  Settings settings_;
  int64_t divisor_;
  std::vector<RowSoftmax> rows_;
};

// Whether its memory can be read as it is.
bool is_plain(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.is_contiguous() && !tensor.is_neg() && !tensor._is_zerotensor();
}

bool has_fast_kernel(const at::Tensor& logits, const at::Tensor& target, const std::optional<at::Tensor>& weight,
                     int64_t reduction, double label_smoothing) {
  return is_plain(logits) && logits.scalar_type() == at::kFloat && logits.dim() == 2 && logits.numel() > 0 &&
         !logits._fw_grad(0).defined() && is_plain(target) && target.scalar_type() == at::kLong && target.dim() == 1 &&
         target.size(0) == logits.size(0) && !(weight && weight->defined()) &&
         (reduction == at::Reduction::Mean || reduction == at::Reduction::Sum) && label_smoothing >= 0 &&
         label_smoothing <= 1;
}

// Returns nullopt if a target is not a class, which LibTorch refuses.
std::optional<int64_t> count_targets(const at::Tensor& target, int64_t classes, int64_t ignore_index) {
  int64_t count = 0;
  const auto* const targets = target.const_data_ptr<int64_t>();
  for (int64_t row = 0; row < target.size(0); ++row) {
    if (targets[row] == ignore_index) continue;
    if (targets[row] < 0 || targets[row] >= classes) return std::nullopt;
    ++count;
  }
  return count;
}

at::Tensor compute(const at::Tensor& logits, const at::Tensor& target, const Settings& settings, int64_t count) {
  const int64_t rows = logits.size(0), classes = logits.size(1);
  std::vector<double> losses(static_cast<size_t>(rows));
  std::vector<RowSoftmax> softmax(static_cast<size_t>(rows));
  const auto* const x = logits.const_data_ptr<float>();
  const auto* const targets = target.const_data_ptr<int64_t>();
  visit_rows(logits, [&](int64_t first, int64_t end) {
    for (int64_t row = first; row < end; ++row) {
      const LogitSums sums = softmax_kernels().add_up(x + row * classes, classes);
      const auto place = static_cast<size_t>(row);
      softmax[place] = {sums.max, static_cast<float>(1 / sums.exponentials)};
      if (targets[row] != settings.ignore_index)
        losses[place] = loss_of(sums, x[row * classes + targets[row]], classes, settings.label_smoothing);
    }
  });
  double total = 0;
  for (const double loss : losses) total += loss;
  const int64_t divisor = settings.is_mean ? count : 1;
  at::Tensor loss;
  {
    const at::AutoDispatchBelowADInplaceOrView guard;
    loss = at::empty({}, logits.options());
    *loss.mutable_data_ptr<float>() = static_cast<float>(total / static_cast<double>(divisor));
  }
  if (torch::autograd::compute_requires_grad(logits))
    torch::autograd::set_history(
        loss, support::make_node<CrossEntropyBackward>(logits, target, settings, divisor, std::move(softmax)));
  return loss;
}

}  // namespace

at::Tensor cross_entropy_loss(const at::Tensor& logits, const at::Tensor& target,
                              const std::optional<at::Tensor>& weight, int64_t reduction, c10::SymInt ignore_index,
                              double label_smoothing) {
  if (has_fast_kernel(logits, target, weight, reduction, label_smoothing) && !ignore_index.is_symbolic()) {
    const Settings settings{reduction == at::Reduction::Mean, ignore_index.expect_int(), label_smoothing};
    if (const auto count = count_targets(target, logits.size(1), settings.ignore_index))
      return compute(logits, target, settings, *count);
  }
  return at::native::cross_entropy_loss_symint(logits, target, weight, reduction, std::move(ignore_index),
                                               label_smoothing);
}

}  // namespace tenon::operators
