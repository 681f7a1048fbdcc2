#include "framework/pipeline/loop/train_step.h"

#include <torch/types.h>

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <sstream>

#include "framework/components/calls/guard.h"
#include "framework/components/calls/host_table.h"
#include "framework/pipeline/build/compute_losses.h"
#include "framework/pipeline/checks/check_model.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/text/format_values.h"

namespace tenon::pipeline {

using support::Error;
using support::ErrorKind;

namespace {

// Failures and crashes are attributed to the model, because they happen in the gradients of its operators.
void call_backward(const components::Model& model, const at::Tensor& total, bool keep_graph, int64_t step) {
  std::optional<Error> of_function;  // set if a plugin's gradient function failed; the error names it already
  components::call_plugin(
      model.component(), "backward",
      [&] {
        try {
          total.backward({}, keep_graph);
        } catch (const Error& error) {
          of_function = error;
        } catch (const c10::Error& error) {
          return components::fail(TENON_FAILED, error.what_without_backtrace());
        }
        return tenon_status{TENON_OK};
      },
      components::At{"step", step});
  if (of_function) throw *of_function;
}

constexpr const char* kSkippedInARow = "skipped_in_a_row";
constexpr const char* kReduced = "reducer.parameters";  // names, one per line
constexpr const char* kReduction = "reducer.buckets";   // names, one per line, with an empty line after each bucket

// Returns null if the run does not use CUDA graphs.
std::unique_ptr<BatchGraphs> make_graphs(Training& training, NonFiniteFlag& non_finite) {
  const config::CudaGraph setting = training.plan->train.cuda_graph;
  if (setting == config::CudaGraph::off) return nullptr;
  const std::string obstacle = BatchGraphs::find_obstacle(training);
  if (obstacle.empty()) return std::make_unique<BatchGraphs>(training, std::vector<at::Tensor>{non_finite.tensor()});
  if (setting == config::CudaGraph::on)
    throw Error(ErrorKind::configuration, "train.cuda_graph: is \"on\", but {}; expected \"auto\" or \"off\"",
                obstacle);
  if (!training.device.is_cpu()) support::log_info("the run uses no CUDA graphs: " + obstacle);
  return nullptr;
}

// Adds zeros that depend on all outputs, so that backward runs through the whole model.
at::Tensor add_zeros(at::Tensor total, const std::vector<at::Tensor>& outputs) {
  for (const at::Tensor& output : outputs)
    if (output.requires_grad()) total = total.defined() ? total + output.sum() * 0 : output.sum() * 0;
  return total;
}

}  // namespace

TrainStep::TrainStep(Training& training, std::function<void(Event)> dispatch,
                     std::function<void(const StepMetrics&)> deliver)
    : training_(training),
      dispatch_(std::move(dispatch)),
      deliver_(std::move(deliver)),
      readback_(make_readback(training)),
      divides_gradients_(training.shards && training.shards->divides_gradients()),
      gradients_(training.optimizer->parameters(), divides_gradients_ ? training.group : nullptr),
      groups_(training.losses, gradients_, training.optimizer->parameters().size(), training.plan->train.accumulate,
              training.group->size(), training.train->feed.batch_size(), readback_.is_immediate()),
      reducer_(distributed::make_reducer(*training.group, training.plan->distributed, {}, {})),
      non_finite_(training.device),
      may_skip_(training.may_skip_steps()),
      losses_(training.losses, *training.group, training.device) {
  graphs_ = make_graphs(training, non_finite_);
  if (training.synchronizes_batch_norm())
    batch_norm_ = std::make_unique<distributed::SynchronizedBatchNorm>(*training.group);
  for (const components::NamedTensor& named : training.model.tensors())
    if (!named.trainable && !named.is_frozen_parameter) buffers_.push_back(named.tensor);
}

void TrainStep::start_epoch() {
  if (graphs_) graphs_->start_epoch();
  if (training_.plan->train.non_finite == config::NonFinite::skip) finite_buffers_.emplace(training_.model);
  std::vector<std::string> names;
  std::vector<at::Tensor> tensors;
  std::vector<int64_t> owners;
  const std::vector<optimization::NamedTensor>& parameters = training_.optimizer->parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].tensor.requires_grad()) continue;
    names.push_back(parameters[i].name);
    tensors.push_back(parameters[i].tensor);
    if (divides_gradients_) owners.push_back(training_.shards->owners()[i]);
  }
  if (names == reduced_) return;
  reduced_ = names;
  reducer_.reset();  // remove its hooks first
  distributed::Reducer::Buckets buckets;
  if (saved_reduction_ && saved_reduction_->names == names) buckets = std::move(saved_reduction_->buckets);
  saved_reduction_.reset();
  reducer_ = distributed::make_reducer(*training_.group, training_.plan->distributed, std::move(names),
                                       std::move(tensors), std::move(owners), std::move(buckets));
}

void TrainStep::save(SavedState& saved) {
  saved.numbers[kSkippedInARow] = static_cast<double>(skipped_in_a_row_);
  if (reducer_->reduced_passes() == distributed::Reducer::Passes::none) return;
  std::string text;
  for (const std::vector<size_t>& bucket : reducer_->buckets()) {
    for (const size_t member : bucket) text += reduced_[member] + "\n";
    text += "\n";
  }
  saved.put_bytes(kReduction, text);
  // The order of the names defines the indices.
  std::string names;
  for (const std::string& name : reduced_) names += name + "\n";
  saved.put_bytes(kReduced, names);
}

void TrainStep::load(const SavedState& saved) {
  skipped_in_a_row_ = saved.count(kSkippedInARow);
  if (!saved.tensors.contains(kReduction)) return;
  SavedReduction reduction;
  std::map<std::string, size_t> indices;
  std::istringstream names(saved.bytes(kReduced)), buckets(saved.bytes(kReduction));
  for (std::string name; std::getline(names, name);) {
    indices[name] = reduction.names.size();
    reduction.names.push_back(name);
  }
  std::vector<size_t> bucket;
  for (std::string name; std::getline(buckets, name);) {
    if (const auto found = indices.find(name); found != indices.end())
      bucket.push_back(found->second);
    else
      reduction.buckets.push_back(std::exchange(bucket, {}));
  }
  saved_reduction_ = std::move(reduction);
}

void TrainStep::run_batch(const data::Batch& batch, components::StepContext context, bool is_last) {
  if (losses_.batches() == 0) context_ = context;
  context.part = static_cast<uint32_t>(losses_.batches());
  BoundDataset& data = *training_.train;
  if (is_last || reduces_every_batch()) reducer_->prepare_forward();
  InStage stage(training_.times, Stage::transfer);
  BatchTensors batch_tensors = data.to_batch_tensors(batch, /*training=*/true);
  stage.next(Stage::forward);
  if (graphs_) return run_batch_as_graph(batch_tensors, batch.size, context);
  run_model(training_, data, batch_tensors, context);
  dispatch_(Event::forward_end);
  stage.next(Stage::losses);
  const std::vector<components::Loss::Result> results = compute_losses(training_, data, batch_tensors, context);
  losses_.add(results, context_);
  if (training_.device.is_cpu() && training_.group->is_single() && !non_finite_source_)
    non_finite_source_ = find_source(data, batch_tensors, results);
  inspect(data, batch_tensors, results);
  compute_results(training_, data.metrics, batch_tensors, context);
  training_.train_metrics.update(context, data.metrics, batch_tensors);
  dispatch_(Event::loss_end);
  stage.next(Stage::backward);
  if (is_last) start_collectives();
  reduces_ = reduces_batch(is_last);
  groups_.run_backward(
      results, batch.size,
      [&](const at::Tensor& total, bool keep_graph) { backward(with_whole_graph(total, batch_tensors), keep_graph); },
      [&] { join_backward(batch_tensors.outputs); });
  if (training_.parameter_shards) training_.parameter_shards->end_backward_pass();
  dispatch_(Event::backward_end);
}

// Callbacks get the events after the whole batch.
void TrainStep::run_batch_as_graph(BatchTensors& batch_tensors, int64_t samples,
                                   const components::StepContext& context) {
  BoundDataset& data = *training_.train;
  const auto compute = [&](BatchTensors& inputs) {
    run_model(training_, data, inputs, context);
    std::vector<components::Loss::Result> results = compute_losses(training_, data, inputs, context);
    if (const at::Tensor total = groups_.total(results); total.defined()) backward(total, /*keep_graph=*/false);
    return results;
  };
  const std::vector<components::Loss::Result> results = graphs_->run(batch_tensors, losses_.batches() == 0, compute);
  groups_.count(results, samples);
  losses_.add(results, context_);
  inspect(data, batch_tensors, results);
  compute_results(training_, data.metrics, batch_tensors, context);
  training_.train_metrics.update(context, data.metrics, batch_tensors);
  for (const Event event : {Event::forward_end, Event::loss_end, Event::backward_end}) dispatch_(event);
}

void TrainStep::inspect(BoundDataset& data, const BatchTensors& batch_tensors,
                        const std::vector<components::Loss::Result>& losses) {
  if (const Inspect inspect = std::exchange(inspect_, nullptr)) inspect(data, batch_tensors, losses);
}

// Gradients that are kept separate are reduced after the last batch, unless every backward reduces.
bool TrainStep::reduces_batch(bool is_last) const {
  switch (reducer_->reduced_passes()) {
    case distributed::Reducer::Passes::none: return false;
    case distributed::Reducer::Passes::last: return is_last && !groups_.keeps_separate();
    default: return true;
  }
}

// Replaces a backward for which the batch has no items.
void TrainStep::join_backward(const std::vector<at::Tensor>& outputs) {
  const at::Tensor total = joins_layers() ? add_zeros({}, outputs) : at::Tensor();
  if (total.defined())
    run_backward(total, /*keep_graph=*/false);
  else if (reduces_)
    reducer_->reduce_without_backward();
}

// The losses of another rank may depend on outputs that those of this rank do not.
at::Tensor TrainStep::with_whole_graph(const at::Tensor& total, const BatchTensors& batch_tensors) const {
  const bool is_whole = !training_.parameter_shards || training_.losses.size() == 1;
  return is_whole ? total : add_zeros(total, batch_tensors.outputs);
}

// The backward of the other ranks waits for this rank's gradients. With synchronized batch norm, their layers also wait
// for this rank's layers.
void TrainStep::join_without_batch(const components::StepContext& context, bool is_last) {
  if (losses_.batches() == 0) context_ = context;
  reduces_ = reduces_batch(is_last);
  if (is_last || reduces_every_batch()) reducer_->prepare_forward();
  BatchTensors batch_tensors;
  if (joins_layers()) {
    BoundDataset& data = *training_.train;
    const data::Batch* batch = data.feed.borrow();
    if (batch_norm_) batch_norm_->set_borrowed(true);
    batch_tensors = data.to_batch_tensors(*batch, /*training=*/true);
    run_model(training_, data, batch_tensors, context);
  }
  if (is_last) start_collectives();
  groups_.join_backward([&] { join_backward(batch_tensors.outputs); });
  if (batch_norm_) batch_norm_->set_borrowed(false);
  if (training_.parameter_shards) training_.parameter_shards->end_backward_pass();
}

void TrainStep::drop() {
  finish_sums();
  pending_buffers_.wait();
  losses_.reset();
  non_finite_source_.reset();
  groups_.reset();
  training_.optimizer->zero_grad();
}

// Before the last backward of the step, so that they overlap with it.
void TrainStep::start_collectives() {
  pending_buffers_ = training_.group->start_broadcast(buffers_);
  losses_.start_sum();
  if (groups_.needs_totals_first()) finish_sums();
}

void TrainStep::finish_sums() {
  const InStage stage(training_.times, training_.waiting_stage());
  if (const at::Tensor& sums = losses_.finish_sum(); sums.defined()) groups_.set_totals(sums);
}

void TrainStep::backward(const at::Tensor& total, bool keep_graph) {
  if (!total.requires_grad())
    throw Error(ErrorKind::plugin,
                training_.losses.front().component().describe() +
                    ", forward: the loss does not depend on any trainable parameter, so there is no gradient; "
                    "expected a value computed from the model's outputs");
  if (context_.step == 0) check_registered(training_, total);
  non_finite_.note(total);
  run_backward(training_.scaler ? training_.scaler->scale(total) : total, keep_graph);
}

// In the last backward of the step, also sums the gradients over the ranks.
void TrainStep::run_backward(const at::Tensor& total, bool keep_graph) {
  if (reduces_) reducer_->expect_backward(total);
  try {
    call_backward(training_.model, total, keep_graph, context_.step + 1);
  } catch (const std::exception& error) {
    if (reduces_) reducer_->finish_backward(&error);
    throw;
  }
  if (!reduces_) return;
  const InStage stage(training_.times, Stage::processes);
  reducer_->finish_backward(nullptr);
}

// Waits for everything that all ranks must share before the update.
void TrainStep::synchronize() {
  finish_sums();
  losses_.note_non_finite(non_finite_);
  const InStage stage(training_.times, training_.waiting_stage());
  pending_buffers_.wait();
}

void TrainStep::finish_step(const optimization::StepRates& rates, bool with_norm) {
  const config::TrainSection& plan = training_.plan->train;
  const InStage stage(training_.times, Stage::optimizer);
  synchronize();
  // With several ranks, the reducer refuses parameters without a gradient.
  if (context_.step == 0 && training_.group->is_single() && groups_.has_gradient()) warn_without_gradient(training_);
  at::Tensor norm = prepare_gradients(with_norm || plan.clip_norm > 0);
  dispatch_(Event::grads_ready);

  post(norm);
  readback_.deliver_arrived();
  // Clip only now: after clipping, an infinite gradient could no longer be named.
  if (plan.clip_value > 0) {
    gradients_.clip_value(plan.clip_value);
    if (plan.clip_norm > 0) norm = gradients_.norm();
  }
  if (plan.clip_norm > 0) gradients_.clip_norm(norm, plan.clip_norm);
  apply_optimizer(rates);
}

// Unscales, divides by the weights and checks for NaN and infinity, in one pass over the gradients.
at::Tensor TrainStep::prepare_gradients(bool with_norm) {
  at::Tensor factor = groups_.combine();
  reducer_->finish_step(groups_.keeps_separate());
  gradients_.gather();
  if (training_.scaler) {
    const at::Tensor inverse = training_.scaler->inverse();
    factor = factor.defined() ? factor * inverse : inverse;
  }
  return gradients_.scale_and_check(factor, non_finite_, with_norm);
}

// Starts copying the step's results to the host.
void TrainStep::post(const at::Tensor& norm) {
  std::vector<at::Tensor> scalars{non_finite_.tensor()};
  if (norm.defined()) scalars.push_back(norm);
  if (training_.scaler) scalars.push_back(training_.scaler->factor());
  StepLosses::Posted losses = losses_.post(scalars, context_);
  // When the results of this step arrive, the gradients belong to a later step.
  std::optional<Gradients::Magnitudes> magnitudes;
  if (!readback_.is_immediate()) magnitudes = gradients_.magnitudes();

  readback_.post(scalars, [this, magnitudes, has_norm = norm.defined(), losses = std::move(losses),
                           source = std::exchange(non_finite_source_, std::nullopt)](const std::vector<double>& given) {
    std::span<const double> values(given);
    StepMetrics metrics{{}, std::numeric_limits<double>::quiet_NaN(), 1, take_value(values) != 0};
    if (has_norm) metrics.gradient_norm = take_value(values);
    if (training_.scaler) metrics.loss_scale = take_value(values);
    metrics.losses = losses.read(values);
    metrics.was_skipped = !check_finite(metrics, magnitudes ? &*magnitudes : nullptr, source, losses.context.step + 1);
    was_skipped_ = metrics.was_skipped;
    skipped_in_a_row_ = was_skipped_ ? skipped_in_a_row_ + 1 : 0;
    deliver_(metrics);
  });
}

// Throws if the run must end.
bool TrainStep::check_finite(const StepMetrics& metrics, const Gradients::Magnitudes* magnitudes,
                             const std::optional<NonFiniteSource>& source, int64_t step) const {
  const auto bad =
      std::ranges::find_if(metrics.losses, [](const LossSums& batch) { return batch.find_non_finite().has_value(); });
  const bool is_loss = bad != metrics.losses.end();
  if (!is_loss && !metrics.was_skipped) return true;
  // Overflows while the loss scale is being halved are normal and do not count.
  const bool may_continue = may_skip_ && (skipped_in_a_row_ < training_.plan->train.max_skipped_steps ||
                                          (training_.scaler && metrics.loss_scale > 1));
  if (may_continue) return false;
  const std::string after = may_skip_ ? ", after " + support::format_count(skipped_in_a_row_, "step was skipped",
                                                                           "steps in a row were skipped")
                                      : "";
  if (is_loss) {
    const size_t loss = *bad->find_non_finite();
    refuse_loss(training_, loss, bad->mean(loss), source, step, after);
  }
  const std::string name = gradients_.name_first_bad(magnitudes ? *magnitudes : gradients_.magnitudes());
  // The rank that has the gradient reports it, and this collective throws its message.
  if (name.empty() && divides_gradients_) training_.group->barrier();
  refuse_gradient(training_, name, step, after);
}

void TrainStep::drain() {
  const InStage stage(training_.times, Stage::device);
  readback_.drain();
}

// All ranks have the same gradients, so they skip the same steps.
void TrainStep::gather_weights() {
  if (!training_.shards || training_.parameter_shards) return;
  const InStage stage(training_.times, Stage::processes);
  training_.shards->gather_weights();
}

void TrainStep::apply_optimizer(const optimization::StepRates& rates) {
  dispatch_(Event::optimizer_before);
  // On a device the kernels read the flag.
  const bool is_skipped = readback_.is_immediate() && was_skipped_;
  if (groups_.has_gradient() && !is_skipped) {
    training_.optimizer->step(rates, readback_.is_immediate() ? at::Tensor() : non_finite_.tensor());
    gather_weights();
  }
  if (training_.scaler) training_.scaler->update(non_finite_.tensor());
  training_.optimizer->zero_grad();
  gradients_.release();
  if (finite_buffers_) finite_buffers_->restore();
  // If the run is to end, the flag stays set, so that later steps change nothing either.
  if (may_skip_) non_finite_.clear();
  groups_.reset();
  dispatch_(Event::optimizer_after);
}

}  // namespace tenon::pipeline
