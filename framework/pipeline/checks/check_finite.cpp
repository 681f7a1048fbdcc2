#include "framework/pipeline/checks/check_finite.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "framework/pipeline/device/readback.h"
#include "framework/pipeline/device/tensor_storage.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/text/format.h"

namespace tenon::pipeline {

using support::Error;
using support::ErrorKind;

namespace {

// [N] bool: the samples of a batch in which the tensor is finite.
at::Tensor find_finite_samples(const at::Tensor& tensor) {
  const at::Tensor finite = at::isfinite(tensor.detach());
  return finite.dim() > 1 ? finite.flatten(1).all(1) : finite.reshape({-1});
}

std::string describe_field(const std::string& name, const at::Tensor& finite_samples, const BoundDataset& data,
                           const BatchTensors& batch_tensors) {
  const int64_t row = finite_samples.logical_not().nonzero()[0].item<int64_t>();
  const std::vector<int64_t> samples =
      batch_tensors.batch ? data.feed.list_samples(*batch_tensors.batch) : std::vector<int64_t>();
  const bool is_known = row < static_cast<int64_t>(samples.size());
  return fmt::format(
      "{}{} is not finite", name,
      is_known ? " of " + data.name() + " sample " + std::to_string(samples[static_cast<size_t>(row)]) : "");
}

// The largest magnitude in each tensor, in host memory; NaN if an element is NaN. LibTorch computes those of many
// tensors with one kernel. Groups by dtype and device keep that fast.
std::vector<double> read_magnitudes(const std::vector<at::Tensor>& tensors) {
  std::map<std::pair<bool, at::ScalarType>, std::vector<size_t>> groups;
  for (size_t i = 0; i < tensors.size(); ++i) groups[{tensors[i].is_cpu(), tensors[i].scalar_type()}].push_back(i);
  std::map<bool, std::vector<at::Tensor>> found;  // by whether they are in host memory
  std::map<bool, std::vector<size_t>> order;
  for (const auto& [key, indices] : groups) {
    std::vector<at::Tensor> members;
    for (const size_t i : indices) members.push_back(tensors[i]);
    const bool is_cpu = key.first;
    found[is_cpu].push_back(
        at::stack(at::_foreach_norm(members, std::numeric_limits<double>::infinity())).to(at::kDouble));
    order[is_cpu].insert(order[is_cpu].end(), indices.begin(), indices.end());
  }
  std::vector<double> magnitudes(tensors.size());
  for (const auto& [is_cpu, parts] : found) {
    const at::Tensor all = at::cat(parts).cpu();
    for (size_t i = 0; i < order[is_cpu].size(); ++i) magnitudes[order[is_cpu][i]] = all.const_data_ptr<double>()[i];
  }
  return magnitudes;
}

bool has_magnitude(const at::Tensor& tensor) {
  return at::isFloatingType(tensor.scalar_type()) && tensor.numel() > 0 && has_storage(tensor);
}

}  // namespace

std::optional<NonFiniteSource> find_source(const BoundDataset& data, const BatchTensors& batch_tensors,
                                           const std::vector<components::Loss::Result>& results) {
  const auto is_finite = [](const components::Loss::Result& result) {
    return std::isfinite(read_scalar(result.loss)) ||
           result.is_empty(result.weight_tensor.defined() ? read_scalar(result.weight_tensor) : result.weight);
  };
  if (std::ranges::all_of(results, is_finite)) return std::nullopt;
  std::vector<const Source*> sources;
  for (const Source& source : data.model.front().sources()) sources.push_back(&source);
  for (const Wiring& loss : data.losses)
    for (const Source& source : loss.sources()) sources.push_back(&source);
  // Fields first: with a wrong field, the outputs of the model are wrong too.
  for (const auto kind : {Source::Kind::field, Source::Kind::output})
    for (const Source* const source : sources) {
      if (source->kind != kind) continue;
      const at::Tensor& tensor = source->take(batch_tensors);
      if (!at::isFloatingType(tensor.scalar_type()) || tensor.numel() == 0) continue;
      const at::Tensor finite = find_finite_samples(tensor);
      if (finite.all().item<bool>()) continue;
      if (kind == Source::Kind::field)
        return NonFiniteSource{describe_field(source->name, finite, data, batch_tensors),
                               "correct or remove the sample",
                               /*may_be_divergence=*/false};
      return NonFiniteSource{source->name + " is not finite", "look for a root or a logarithm near 0 in the model"};
    }
  return NonFiniteSource{"its inputs are finite", "look for a root or a logarithm near 0 in the loss"};
}

void refuse_loss(const Training& training, size_t loss, double value, const std::optional<NonFiniteSource>& source,
                 int64_t step, const std::string& after) {
  // No weight has been updated before step 1.
  const bool may_be_divergence = step > 1 && (!source || source->may_be_divergence);
  throw Error(ErrorKind::non_finite, "{}: the loss {} is {} in step {}{}{}; expected a finite number: {}{}",
              training.plan->losses[loss].place, training.losses[loss].name(), std::isnan(value) ? "NaN" : "infinite",
              step, after, source ? " (" + source->what + ")" : "", may_be_divergence ? "lower optimizer.lr, or " : "",
              source ? source->advice : "look for bad samples");
}

void check_items(const Training& training, const LossSums& sums) {
  bool has_items = false;
  std::string without;
  for (size_t i = 0; i < training.losses.size(); ++i) {
    if (sums.weight(i) > 0)
      has_items = true;
    else if (without.empty())
      without = fmt::format(
          "{}: the loss {} had no items in epoch 1: its weight was 0 in every batch, so it trains nothing; look for "
          "targets that are all ignored; a plugin returns the number of items in the mean as the weight",
          training.plan->losses[i].place, training.losses[i].name());
  }
  if (!has_items) throw Error(ErrorKind::non_finite, without);
  if (!without.empty()) support::log_warning(without);
}

void refuse_gradient(const Training& training, const std::string& parameter, int64_t step, const std::string& after) {
  throw Error(ErrorKind::non_finite,
              "{}: the gradient of {} is not finite in step {}{}, though the losses are; expected finite numbers: "
              "lower optimizer.lr, or look for a root or a logarithm near 0 in the model",
              training.plan->model.place, parameter.empty() ? "a parameter" : parameter, step, after);
}

std::set<std::string> list_infinite_buffers(std::span<const components::NamedTensor> tensors) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> checked;
  std::vector<std::string> names;
  for (const components::NamedTensor& named : tensors) {
    if (named.trainable || !has_magnitude(named.tensor)) continue;
    checked.push_back(named.tensor.detach());
    names.push_back(named.name);
  }
  const std::vector<double> magnitudes = read_magnitudes(checked);
  std::set<std::string> infinite;
  for (size_t i = 0; i < names.size(); ++i)
    if (std::isinf(magnitudes[i])) infinite.insert(names[i]);
  return infinite;
}

const CheckedTensor* find_non_finite(std::span<const CheckedTensor> tensors) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> checked;
  std::vector<const CheckedTensor*> sources;
  for (const CheckedTensor& one : tensors) {
    if (!has_magnitude(one.tensor)) continue;
    checked.push_back(one.tensor.detach());
    sources.push_back(&one);
  }
  const std::vector<double> magnitudes = read_magnitudes(checked);
  for (size_t i = 0; i < sources.size(); ++i)
    if (std::isnan(magnitudes[i]) || (std::isinf(magnitudes[i]) && !sources[i]->may_be_infinite)) return sources[i];
  return nullptr;
}

}  // namespace tenon::pipeline
