#include <algorithm>
#include <cmath>

#include <ATen/ops/addmm.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/norm.h>

#include "framework/optimization/snapshot.h"
#include "framework/optimization/update_rule.h"
#include "framework/support/diagnostics/check.h"

namespace tenon::optimization {
namespace {

class Muon final : public UpdateRule {
 public:
  explicit Muon(const config::MuonPlan& plan) : UpdateRule({"momentum_buffer"}), plan_(plan) {}

  void update(UpdateLists& lists, const UpdateRates& rates, const at::Tensor& skip) override {
    const Snapshot before(lists, skip);
    const double momentum = rates.momentum.value_or(plan_.momentum);
    for (size_t i = 0; i < lists.tensors.size(); ++i) {
      at::Tensor& tensor = lists.tensors[i];
      at::Tensor& buffer = lists.state[0][i];
      TENON_CHECK(tensor.dim() == 2, tensor.dim() << " dimensions");
      buffer.lerp_(lists.gradients[i], 1 - momentum);
      const at::Tensor update = plan_.nesterov ? lists.gradients[i].lerp(buffer, momentum) : buffer;
      tensor.mul_(1 - rates.learning_rate * rates.weight_decay);
      tensor.add_(orthogonalize(update), -rates.learning_rate * ratio(tensor));
    }
    before.restore_if_skipped(lists);
  }

 private:
  // Approximates U V^T for update = U S V^T, with the quintic Newton-Schulz iteration in bfloat16.
  at::Tensor orthogonalize(const at::Tensor& update) const {
    const auto [a, b, c] = plan_.ns_coefficients;
    const bool is_tall = update.size(0) > update.size(1);
    at::Tensor x = update.to(at::kBFloat16);
    if (is_tall) x = x.t();
    x = x.div(x.norm().clamp_min(plan_.eps));
    for (int64_t step = 0; step < plan_.ns_steps; ++step) {
      const at::Tensor gram = at::matmul(x, x.t());
      x = at::addmm(x, at::addmm(gram, gram, gram, /*beta=*/b, /*alpha=*/c), x, /*beta=*/a);
    }
    return is_tall ? x.t() : x;
  }

  double ratio(const at::Tensor& matrix) const {
    const auto rows = static_cast<double>(matrix.size(0));
    const auto columns = static_cast<double>(matrix.size(1));
    if (plan_.adjust_lr == config::MuonPlan::AdjustLr::match_rms_adamw) return 0.2 * std::sqrt(std::max(rows, columns));
    return std::sqrt(std::max(1.0, rows / columns));
  }

  config::MuonPlan plan_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_muon(const config::MuonPlan& plan) { return std::make_unique<Muon>(plan); }

}  // namespace tenon::optimization
