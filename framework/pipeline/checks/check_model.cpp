#include "framework/pipeline/checks/check_model.h"

#include <torch/types.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/components/tensors/graph_leaves.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/pipeline/build/compute_losses.h"
#include "framework/pipeline/device/keep_random_state.h"
#include "framework/pipeline/device/tensor_storage.h"
#include "framework/pipeline/state/divided_weights.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/text/format.h"
#include "framework/support/text/format_values.h"

namespace tenon::pipeline {

namespace {

// Restores the buffers of a model when destroyed.
class KeepBuffers {
 public:
  explicit KeepBuffers(const components::Model& model) {
    for (const components::NamedTensor& named : model.tensors())
      if (!named.trainable && has_storage(named.tensor))
        buffers_.emplace_back(named.tensor, named.tensor.detach().clone());
  }
  ~KeepBuffers() {
    const at::NoGradGuard no_grad;
    for (const auto& [buffer, copy] : buffers_) at::Tensor(buffer).copy_(copy);
  }
  KeepBuffers(const KeepBuffers&) = delete;
  KeepBuffers& operator=(const KeepBuffers&) = delete;

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> buffers_;  // of the model, and its copy
};

// The samples of the smallest batch that a rank has in an epoch. A limited run may not reach the last batch.
int64_t find_smallest_batch(const Training& training) {
  const int64_t batch_size = training.train->feed.batch_size();
  const int64_t ranks = training.group->size();
  const int64_t rest = training.train->feed.sampler().size() % (batch_size * ranks);
  if (rest == 0 || training.total_steps < training.steps_per_epoch) return batch_size;
  return std::max<int64_t>(1, rest / ranks);
}

// One sample of zeros; nothing if the model has an input of varying size.
std::optional<BatchTensors> make_sample(const Training& training) {
  BatchTensors batch_tensors;
  const BoundDataset& data = *training.train;
  const std::vector<components::SampleField>& fields = data.transforms.fields();
  batch_tensors.fields.resize(fields.size());
  for (const Source& source : data.model.front().sources()) {
    const components::SampleField& field = fields[source.index];
    if (field.is_varying()) return std::nullopt;
    std::vector<int64_t> shape{1};
    shape.insert(shape.end(), field.shape.begin(), field.shape.end());
    batch_tensors.fields[source.index] =
        at::zeros(shape, at::TensorOptions(training.device).dtype(components::to_scalar_type(field.dtype)));
  }
  return batch_tensors;
}

std::string describe_batch(const Training& training) {
  const config::DataSection& plan = training.plan->data;
  const int64_t samples = training.train->feed.sampler().size();
  const std::string size = "data.batch_size is " + std::to_string(plan.batch_size);
  if (plan.batch_size == 1) return size;
  const bool is_single = training.group->is_single();
  return fmt::format("{}{} and train has {}, so the last batch of an epoch has 1 sample{}", size,
                     is_single ? "" : " in each of " + std::to_string(training.group->size()) + " processes",
                     support::format_count(samples, "sample"), is_single ? "" : " in some of them");
}

// How to get larger batches.
std::string advise(const Training& training) {
  const config::DataSection& plan = training.plan->data;
  const int64_t ranks = training.group->size();
  if (plan.batch_size == 1) return "data.batch_size of at least 2";
  if (training.train->feed.sampler().size() < plan.batch_size * ranks) return "more samples";
  return "data.drop_last = true, which leaves out the smaller last batch, or another data.batch_size";
}

}  // namespace

void check_registered(const Training& training, const at::Tensor& total) {
  std::vector<at::Tensor> known;
  for (const components::NamedTensor& named : training.model.tensors()) known.push_back(named.tensor);
  if (const std::string unregistered = components::find_unregistered(total, known); !unregistered.empty())
    throw support::Error(support::ErrorKind::plugin, "{}: {}: {}", training.plan->model.place,
                         training.model.component().describe(), unregistered);
}

void warn_without_gradient(const Training& training) {
  constexpr int64_t kNamed = 3;
  std::string names;
  int64_t count = 0;
  for (const components::NamedTensor& named : training.model.tensors()) {
    if (!named.trainable || !named.tensor.requires_grad() || named.tensor.grad().defined()) continue;
    if (count++ < kNamed) names += (names.empty() ? "" : ", ") + named.name;
  }
  if (count == 0) return;
  support::log_warning(
      "{}: {}: no loss depends on {} ({}{}) in step 1, so they are not trained; look for detach() or an unused layer "
      "in forward, or freeze them: [[optimizer.group]] with frozen = true",
      training.plan->model.place, training.model.component().describe(), support::format_count(count, "parameter"),
      names, count > kNamed ? ", ..." : "");
}

void check_ranks(const Training& training) {
  std::vector<components::NamedTensor> tensors = training.model.tensors();
  // Divided weights have been compared before.
  if (training.parameter_shards)
    std::erase_if(tensors, [](const auto& named) { return named.trainable || named.is_frozen_parameter; });
  require_equal_weights(tensors, training.model, training.plan->model, *training.group);
}

void check_batch_norm(Training& training) {
  const bool is_synchronized = training.synchronizes_batch_norm();
  // With divided weights, the ranks would have to compute together.
  if (find_smallest_batch(training) > 1 || is_synchronized || training.parameter_shards) return;
  std::optional<BatchTensors> sample = make_sample(training);
  if (!sample) return;
  const at::NoGradGuard no_grad;
  const KeepRandomState keep(c10::kCPU);  // a model may use either generator
  const KeepRandomState keep_on_device(training.device);
  const KeepBuffers keep_buffers(training.model);
  // The later epochs of a run freeze the fewest batch norms.
  if (training.frozen_statistics)
    training.frozen_statistics->start_epoch(std::max<int64_t>(1, training.total_steps / training.steps_per_epoch));
  components::StepContext context{true, 0, 1, 0, 1, training.plan->run.seed};
  try {
    run_model(training, *training.train, *sample, context);
  } catch (const OneValuePerChannel& error) {
    throw support::Error(support::ErrorKind::configuration,
                         "{}: {}, for which the model fails: {}; the variance of one value is undefined; expected {}",
                         training.plan->data.train.place, describe_batch(training), error.found(), advise(training));
  } catch (const std::exception& error) {
    // The fake sample may be wrong for other reasons.
    support::log_debug(std::string("a batch of 1 sample was not checked: ") + error.what());
  }
  if (training.frozen_statistics) training.frozen_statistics->start_epoch(1);
}

}  // namespace tenon::pipeline
