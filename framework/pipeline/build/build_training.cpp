#include <algorithm>

#include "framework/optimization/evaluation_weights.h"
#include "framework/pipeline/build/best_metrics.h"
#include "framework/pipeline/build/build_components.h"
#include "framework/pipeline/build/metric_directions.h"
#include "framework/pipeline/build/training.h"
#include "framework/pipeline/device/tensor_storage.h"
#include "framework/pipeline/state/divided_weights.h"
#include "framework/pipeline/state/frozen_parameters.h"
#include "framework/pipeline/state/step_count.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/text/format_values.h"

namespace tenon::pipeline {

using config::ComponentKind;
using support::Error;
using support::ErrorKind;

namespace {

std::vector<optimization::NamedTensor> trainable_tensors(const config::RunPlan& plan, const components::Model& model) {
  // Tied weights are one parameter and are updated once.
  std::vector<optimization::NamedTensor> parameters = list_tensors(model, /*only_trainable=*/true);
  if (parameters.empty())
    throw Error(ErrorKind::plugin,
                "{}: {} has no trainable parameters; expected at least one: declare parameters in build, or unfreeze "
                "groups of [[optimizer.group]]",
                plan.model.place, model.component().describe());
  return parameters;
}

// Other samples would invalidate schedules, the remaining part of an epoch, and resuming.
void require_same_size(const data::Feed& later, const data::Feed& first, const std::string& place) {
  if (later.dataset().size() == first.dataset().size()) return;
  throw Error(ErrorKind::configuration,
              "{}: with these parameters {} has {}, and {} in the first epoch; expected the same number: change what "
              "the samples look like, not which samples there are",
              place, later.dataset().component().describe(), support::format_count(later.dataset().size(), "sample"),
              first.dataset().size());
}

std::vector<ScheduledData> build_scheduled_data(Evaluation& evaluation, const components::Catalogue& catalogue,
                                                const MetricSet& metrics, const data::Feed& first) {
  std::vector<ScheduledData> scheduled;
  for (const config::ScheduledDataset& later : evaluation.plan->data.scheduled_train) {
    scheduled.push_back({later.at_epoch, build_data(evaluation, catalogue, later, metrics)});
    require_same_size(scheduled.back().dataset->feed, first, later.place);
  }
  return scheduled;
}

// The training and the validation data find their folds from their labels and groups. Data that differ in these would
// share samples.
void require_folds(const Evaluation& evaluation, const data::Feed& train) {
  const auto& folds = evaluation.plan->data.folds;
  if (!folds || evaluation.validation.empty()) return;
  const data::Feed& validation = evaluation.validation.front()->feed;
  if (validation.dataset().size() != train.dataset().size())
    throw Error(
        ErrorKind::configuration,
        "{}: data.folds divides the samples of [data.train] and [data.validation], but the first has {} and the second "
        "{}; expected the same samples: set like = \"train\" in [data.validation], and only change transforms",
        evaluation.plan->data.validation.front().place, support::format_count(train.dataset().size(), "sample"),
        validation.dataset().size());
  std::vector<int64_t> all = train.sampler().samples();
  const std::vector<int64_t>& others = validation.sampler().samples();
  if (evaluation.group->rank() == 0)
    support::log_info("fold {} of {}: {} to train on, {} to validate on", folds->fold, folds->count,
                      support::format_count(std::ssize(all), "sample"), others.size());
  all.insert(all.end(), others.begin(), others.end());
  std::ranges::sort(all);
  const data::SamplerOptions subset{.subset = evaluation.plan->data.train.subset,
                                    .subset_seed = evaluation.plan->data.subset_seed};
  std::vector<int64_t> expected = data::Sampler(train.dataset().size(), subset).order(0);
  if (all == expected) return;
  throw Error(ErrorKind::configuration,
              "{}: the samples of [data.train] and [data.validation] have different labels or groups, so their folds "
              "share samples; expected the same samples: set like = \"train\" in [data.validation], and only change "
              "transforms",
              folds->place);
}

// All ranks must run forward and backward equally often.
void check_synchronizable(const config::RunPlan& plan) {
  const auto refuse = [](const std::string& what) {
    throw Error(ErrorKind::configuration, "distributed.synchronize_batch_norm: is enabled together with " + what);
  };
  if (plan.data.on_error == config::OnError::skip)
    refuse("data.on_error = \"skip\", which may leave a rank without a batch; expected \"stop\"");
  if (plan.losses.size() > 1 && plan.train.accumulate > 1)
    refuse(
        "several losses and train.accumulate, which run different numbers of backward passes per rank; expected "
        "accumulate = 1");
}

// What needs all gradients or all weights on rank 0, or an equal graph on all ranks.
void check_divisible(const config::RunPlan& plan) {
  const auto refuse = [&](const std::string& what, const std::string& expected) {
    throw Error(ErrorKind::configuration, "distributed.shard: is \"{}\" together with {}; expected {}",
                config::to_string(plan.distributed.shard), what, expected);
  };
  if (plan.distributed.shard == config::Shard::none || plan.distributed.shard == config::Shard::optimizer) return;
  if (plan.log.histograms.unit != config::Period::Unit::never)
    refuse("log.histograms, for which rank 0 needs all gradients", "log.histograms = \"never\"");
  if (plan.distributed.shard != config::Shard::parameters) return;
  if (plan.distributed.find_unused_parameters)
    refuse("find_unused_parameters", "shard = \"gradients\", or a model that uses all parameters in each step");
  if (plan.data.on_error == config::OnError::skip)
    refuse("data.on_error = \"skip\", which may leave a rank without a batch", "on_error = \"stop\"");
  if (plan.losses.size() > 1 && plan.train.accumulate > 1)
    refuse("several losses and train.accumulate, which run different backward passes per rank", "accumulate = 1");
}

// Null if the weights of training are evaluated. Frozen parameters are not averaged.
std::unique_ptr<optimization::EvaluationWeights> make_average(const config::RunPlan& plan,
                                                              const components::Model& model,
                                                              const optimization::Optimizer& optimizer,
                                                              OptimizerShards* shards) {
  if (std::holds_alternative<config::ScheduleFreeAdamWPlan>(plan.optimizer.rule)) {
    if (plan.distributed.shard == config::Shard::parameters && shards)
      return std::make_unique<optimization::ScheduleFreeWeights>(optimizer, shards->owned());
    optimization::ScheduleFreeWeights::Gather gather;
    if (shards) gather = [shards](const auto& tensors, const auto& parameters) { shards->gather(tensors, parameters); };
    return std::make_unique<optimization::ScheduleFreeWeights>(optimizer, std::move(gather));
  }
  if (!plan.train.average) return nullptr;
  std::vector<optimization::NamedTensor> tensors = list_tensors(model, /*only_trainable=*/false);
  std::erase_if(tensors, [](const auto& named) { return !has_storage(named.tensor); });
  for (const components::NamedTensor& frozen : list_frozen_parameters(model, optimizer))
    std::erase_if(tensors, [&](const auto& named) { return named.tensor.is_same(frozen.tensor); });
  return std::make_unique<optimization::WeightAverage>(*plan.train.average, tensors);
}

// With the wrong mode, the learning rate falls while the metric improves. `direction`: as in Directions.
void require_mode(const config::SchedulePlan& schedule, const std::string& metric, int32_t direction) {
  const auto* const plateau = std::get_if<config::PlateauSchedule>(&schedule.shape);
  if (!plateau || direction == 0) return;
  const bool is_max = plateau->mode == config::PlateauSchedule::Mode::max;
  if (is_max == (direction > 0)) return;
  throw Error(ErrorKind::configuration,
              "{}: schedule.mode is \"{}\", but {} values of {} are better; expected mode = \"{}\"", schedule.place,
              is_max ? "max" : "min", is_max ? "lower" : "higher", metric, is_max ? "min" : "max");
}

// Divides the weights, the gradients or the optimizer's state over the ranks, as distributed.shard requests.
void build_shards(Training& training) {
  const config::RunPlan& plan = *training.plan;
  distributed::ProcessGroup& group = *training.group;
  check_divisible(plan);
  if (plan.distributed.shard == config::Shard::none) return;
  std::optional<DividedWeights> divided;
  if (plan.distributed.shard == config::Shard::parameters) divided = assign_weights(training.model, plan, group.size());
  training.shards =
      std::make_unique<OptimizerShards>(group, plan.distributed, *training.optimizer, divided ? &*divided : nullptr);
  if (divided)
    training.parameter_shards =
        std::make_unique<ParameterShards>(group, *training.shards, training.model, std::move(*divided));
}

}  // namespace

Training build_training(const config::RunPlan& given, const components::Catalogue& catalogue,
                        const support::ComputeDevice& device, distributed::ProcessGroup& group) {
  Evaluation evaluation = build_components(given, catalogue, device, group, /*trains=*/true);
  const config::RunPlan& plan = *evaluation.plan;
  auto optimizer = optimization::Optimizer::make(plan.optimizer, trainable_tensors(plan, evaluation.model));
  std::vector<components::Callback> callbacks;
  for (const config::ComponentPlan& callback : plan.callbacks)
    callbacks.emplace_back(catalogue.find(ComponentKind::callback, callback.use), callback);
  MetricSet train_metrics(MetricSet::Data::train, plan, catalogue, evaluation.losses, evaluation.device);
  std::unique_ptr<BoundDataset> train = build_data(evaluation, catalogue, plan.data.train, train_metrics);
  data::require_class_fields(plan.data.class_names, plan.data.class_names_source, train->feed.dataset(),
                             plan.data.train.place);
  if (std::string fitted = train->feed.dataset().read_fitted_data(); !fitted.empty())
    evaluation.fitted_data.emplace(plan.data.train.use, std::move(fitted));
  evaluation.numbering.names = train->feed.class_names();
  if (plan.data.class_names.empty()) evaluation.numbering.source = "the training data";
  std::vector<ScheduledData> scheduled_train = build_scheduled_data(evaluation, catalogue, train_metrics, train->feed);
  build_validation_data(evaluation, catalogue);
  require_folds(evaluation, train->feed);
  MetricSet test_metrics;
  std::vector<std::unique_ptr<BoundDataset>> test;
  if (!plan.data.test.empty())
    test_metrics = MetricSet(MetricSet::Data::test, plan, catalogue, evaluation.losses, evaluation.device);
  for (const config::NamedDataset& dataset : plan.data.test)
    test.push_back(build_data(evaluation, catalogue, dataset, test_metrics));
  if (device.is_cuda()) choose_cudnn_benchmark(plan, train->feed.dataset().fields());
  const int64_t accumulate = plan.train.accumulate;
  const int64_t steps_per_epoch = (train->feed.batches() + accumulate - 1) / accumulate;
  const int64_t total_steps = count_total_steps(plan.train, steps_per_epoch);
  if (!group.is_single() && plan.distributed.synchronize_batch_norm) check_synchronizable(plan);
  Training training{std::move(evaluation),
                    std::move(callbacks),
                    std::move(train),
                    std::move(scheduled_train),
                    total_steps,
                    steps_per_epoch,
                    std::move(optimizer),
                    optimization::Schedule::make(plan.schedule, plan.optimizer.lr, {total_steps, steps_per_epoch}),
                    device.make_graph};
  if (plan.train.precision == config::Precision::fp16) training.scaler.emplace(training.device);
  training.train_metrics = std::move(train_metrics);
  training.test_metrics = std::move(test_metrics);
  training.test = std::move(test);
  training.frozen_statistics = FrozenStatistics::make(plan.optimizer, training.model, *training.optimizer);
  if (!group.is_single()) build_shards(training);
  training.evaluation_weights = make_average(plan, training.model, *training.optimizer, training.shards.get());
  const Directions directions = find_directions(training);
  if (const std::string* const monitored = training.schedule.monitored_metric()) {
    refuse_test_metric(training, *monitored, plan.schedule.place + ": schedule.monitor");
    require_metric(*monitored, directions, plan.schedule.place + ": schedule.monitor");
    require_mode(plan.schedule, *monitored, directions.at(*monitored));
  }
  training.awaited_metrics = check_monitored_metrics(training, directions);
  refuse_test_metric(training, plan.checkpoint.monitor, plan.checkpoint.monitor_place + ": checkpoint.monitor");
  training.monitor = find_monitor(plan.checkpoint, directions);
  return training;
}

void Training::use_data_of_epoch(int64_t epoch) {
  while (!scheduled_train.empty() && scheduled_train.front().at_epoch <= epoch) {
    train = std::move(scheduled_train.front().dataset);
    scheduled_train.erase(scheduled_train.begin());
  }
}

void Training::update_schedule(const NamedMetrics& metrics) {
  const std::string* const monitored = schedule.monitored_metric();
  for (const auto& [name, value] : metrics)
    if (monitored && name == *monitored) schedule.observe(value);
}

void copy_connections(const Training& training, config::RunPlan& plan) {
  if (!training.validation.empty())
    training.metrics.copy_connections(training.validation.front()->metrics, *training.plan, plan);
  training.train_metrics.copy_connections(training.train->metrics, *training.plan, plan);
  plan.model.inputs = training.train->model.front().source_names();
  for (size_t i = 0; i < plan.losses.size(); ++i) plan.losses[i].inputs = training.train->losses[i].source_names();
}

}  // namespace tenon::pipeline
