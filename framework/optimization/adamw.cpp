#include "framework/optimization/adamw.h"

#include <utility>

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace tenon::optimization {
namespace {

// The kernel expects steps that count the one under way. A float in memory needs no operator call.
void advance(std::vector<at::Tensor>& steps) {
  if (steps.front().is_cpu()) {
    for (at::Tensor& step : steps) *step.mutable_data_ptr<float>() += 1;
  } else {
    at::_foreach_add_(steps, 1);
  }
}

}  // namespace

AdamW::AdamW(const config::AdamWPlan& plan, std::vector<NamedTensor> parameters)
    : Optimizer(std::move(parameters)), plan_(plan), moments_(this->parameters().size()) {}

void AdamW::select(const std::vector<size_t>& active) {
  tensors_.clear();
  exp_avgs_.clear();
  exp_avg_sqs_.clear();
  steps_.clear();
  for (const size_t i : active) {
    const at::Tensor& tensor = parameters()[i].tensor;
    Moments& moments = moments_[i];
    if (!moments.step.defined())
      moments = {at::zeros_like(tensor), at::zeros_like(tensor), at::zeros({}, tensor.options().dtype(at::kFloat))};
    tensors_.push_back(tensor);
    exp_avgs_.push_back(moments.exp_avg);
    exp_avg_sqs_.push_back(moments.exp_avg_sq);
    steps_.push_back(moments.step);
  }
}

void AdamW::update(const std::vector<at::Tensor>& gradients, double learning_rate) {
  advance(steps_);
  at::_fused_adamw_(tensors_, gradients, exp_avgs_, exp_avg_sqs_, /*max_exp_avg_sqs=*/{}, steps_, learning_rate,
                    plan_.betas[0], plan_.betas[1], plan_.weight_decay, plan_.eps, /*amsgrad=*/false,
                    /*maximize=*/false);
}

std::vector<NamedTensor> AdamW::state() const {
  std::vector<NamedTensor> state;
  for (size_t i = 0; i < moments_.size(); ++i) {
    if (!moments_[i].step.defined()) continue;
    const std::string& name = parameters()[i].name;
    state.push_back({name + ".exp_avg", moments_[i].exp_avg});
    state.push_back({name + ".exp_avg_sq", moments_[i].exp_avg_sq});
    state.push_back({name + ".step", moments_[i].step});
  }
  return state;
}

}  // namespace tenon::optimization
