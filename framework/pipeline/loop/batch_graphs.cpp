#include "framework/pipeline/loop/batch_graphs.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/types.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include "framework/pipeline/device/device_error.h"
#include "framework/pipeline/device/keep_random_state.h"
#include "framework/support/compute/tensor_lists.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/text/format.h"

namespace tenon::pipeline {

using support::Error;
using support::ErrorKind;

namespace {

// cuDNN, cuBLAS and caches of models are set up in the first batches.
constexpr int64_t kWarmUps = 3;

std::unique_ptr<c10::StreamGuard> leave_default_stream(const c10::Device& device) {
  const c10::impl::VirtualGuardImpl guard(device.type());
  guard.synchronizeDevice(device.index());  // the weights may still be copied on the default stream
  return std::make_unique<c10::StreamGuard>(guard.getStreamFromGlobalPool(device));
}

// Returns the numbers of the results as one tensor [n] float64.
at::Tensor pack(const std::vector<components::Loss::Result>& results) {
  std::vector<at::Tensor> scalars;
  const auto add = [&](const at::Tensor& scalar) {
    if (scalar.defined()) scalars.push_back(scalar.detach().reshape({}).to(at::kDouble));
  };
  for (const components::Loss::Result& result : results) {
    add(result.loss);
    add(result.weight_tensor);
    for (const at::Tensor& part : result.parts) add(part);
  }
  return at::stack(scalars);
}

// Returns the results with the numbers of `packed`, see pack().
std::vector<components::Loss::Result> unpack(std::vector<components::Loss::Result> results, const at::Tensor& packed) {
  int64_t place = 0;
  const auto take = [&](at::Tensor& scalar) {
    if (scalar.defined()) scalar = packed.select(0, place++);
  };
  for (components::Loss::Result& result : results) {
    take(result.loss);
    take(result.weight_tensor);
    for (at::Tensor& part : result.parts) take(part);
  }
  return results;
}

std::vector<at::Tensor> defined(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> list;
  for (const at::Tensor& tensor : tensors)
    if (tensor.defined()) list.push_back(tensor);
  return list;
}

std::vector<at::Tensor> copies_of(std::vector<at::Tensor> tensors) {
  for (at::Tensor& tensor : tensors)
    if (tensor.defined()) tensor = tensor.clone();
  return tensors;
}

constexpr double kRepeatMargin = 10;
constexpr double kLastPlaces = 4;

double unit_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble: return std::numeric_limits<double>::epsilon();
    case at::kFloat: return std::numeric_limits<float>::epsilon();
    case at::kHalf: return std::numeric_limits<c10::Half>::epsilon();
    case at::kBFloat16: return std::numeric_limits<c10::BFloat16>::epsilon();
    default: return 0;
  }
}

// The relative difference of each pair. Equal bits and two NaN differ by 0, NaN and a number by infinity.
std::vector<double> differences(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<at::Tensor> relative;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].numel() == 0) {
      relative.push_back(at::zeros({}, a[i].options().dtype(at::kDouble)));
      continue;
    }
    const at::Tensor x = a[i].to(at::kDouble), y = b[i].to(at::kDouble);
    const at::Tensor is_equal = x.eq(y).logical_or(x.isnan().logical_and(y.isnan()));
    const at::Tensor largest = (x - y).abs().nan_to_num(kInfinity).masked_fill(is_equal, 0).max();
    const at::Tensor size = x.abs().nan_to_num(0, 0).max();
    relative.push_back((largest / size).masked_fill(largest.eq(0), 0).nan_to_num(kInfinity, kInfinity));
  }
  if (relative.empty()) return {};
  const at::Tensor all = at::stack(relative).cpu();
  return {all.const_data_ptr<double>(), all.const_data_ptr<double>() + all.numel()};
}

}  // namespace

struct BatchGraphs::Recorded {
  std::unique_ptr<support::DeviceGraph> graph;
  std::vector<components::Loss::Result> results;
  std::vector<at::Tensor> outputs;
  at::Tensor packed;
  bool is_verified = false;
};

// What a batch may change.
struct BatchGraphs::State {
  std::vector<at::Tensor> written;    // copies
  std::vector<at::Tensor> gradients;  // copies, one per parameter; undefined: none
  at::Tensor random;
};

// The results of a batch and what it has changed.
struct BatchGraphs::Computed {
  std::vector<components::Loss::Result> results;
  std::vector<at::Tensor> outputs;
  at::Tensor packed;
  State state;

  std::vector<at::Tensor> numbers() const {
    std::vector<at::Tensor> list = defined(state.gradients);
    list.insert(list.end(), state.written.begin(), state.written.end());
    list.push_back(packed.to(at::kFloat));  // the dtype of most losses, for the limit of is_repeated()
    return list;
  }
};

std::string BatchGraphs::find_obstacle(const Training& training) {
  const config::TrainSection& plan = training.plan->train;
  if (training.device.is_cpu() || !training.make_graph) return "the run is not on a CUDA device";
  if (!training.group->is_single()) return "the run has several processes";
  if (plan.activation_checkpointing) return "train.activation_checkpointing is true";
  if (plan.accumulate > 1 && training.losses.size() > 1) return "train.accumulate combines several losses";
  for (const components::SampleField& field : training.train->feed.dataset().fields())
    if (field.is_varying()) return fmt::format("the size of the field {} varies between batches", field.name);
  if (plan.cuda_graph == config::CudaGraph::on) return "";
  const auto refuse = [](const components::Component& component) {
    return component.describe() + " does not declare that it can be captured (tenon/capture.h)";
  };
  if (!training.model.is_capturable()) return refuse(training.model.component());
  for (const components::Loss& loss : training.losses)
    if (!loss.is_capturable()) return refuse(loss.component());
  return "";
}

BatchGraphs::BatchGraphs(Training& training, std::vector<at::Tensor> written)
    : training_(training), written_(std::move(written)), stream_(leave_default_stream(training.device)) {
  for (const components::NamedTensor& named : training.model.tensors())
    (named.trainable ? parameters_ : written_).push_back(named.tensor);
}

BatchGraphs::~BatchGraphs() {
  try {
    c10::impl::VirtualGuardImpl(training_.device.type()).synchronizeDevice(training_.device.index());
  } catch (const std::exception&) {
    // The device has failed, which was reported by another call.
  }
}

void BatchGraphs::start_epoch() {
  std::vector<bool> trained;
  for (const at::Tensor& parameter : parameters_) trained.push_back(parameter.requires_grad());
  if (trained == trained_ && data_ == training_.train.get()) return;
  trained_ = std::move(trained);
  data_ = training_.train.get();
  forget();
}

void BatchGraphs::forget() {
  following_.reset();
  first_.reset();
  static_gradients_.clear();
  fields_.clear();
  same_ = 0;
  is_first_replayed_ = false;
}

bool BatchGraphs::fits(const BatchTensors& batch_tensors) const {
  return std::ranges::equal(batch_tensors.fields, fields_, [](const at::Tensor& a, const at::Tensor& b) {
    return a.sizes() == b.sizes() && a.strides() == b.strides() && a.scalar_type() == b.scalar_type();
  });
}

std::vector<components::Loss::Result> BatchGraphs::run(BatchTensors& batch_tensors, bool is_first,
                                                       const Compute& compute) {
  if (is_first) is_first_replayed_ = false;
  if (is_off_) return compute(batch_tensors);
  if (!fits(batch_tensors)) {
    if (!first_) {
      fields_ = batch_tensors.fields;
      same_ = 1;
    }
    return compute(batch_tensors);
  }
  if (!first_ && ++same_ <= kWarmUps) return compute(batch_tensors);
  // The graph of a following batch adds to the gradients of the first one's graph.
  if (!is_first && !is_first_replayed_) return compute(batch_tensors);
  const std::unique_ptr<Recorded>& recorded = is_first ? first_ : following_;
  if (!recorded) {
    record(batch_tensors, is_first, compute);
    return compute(batch_tensors);
  }
  if (!recorded->is_verified) return verify(*recorded, batch_tensors, compute);
  ++replays_;
  return replay(*recorded, batch_tensors);
}

// The batch runs as usual afterwards.
void BatchGraphs::record(const BatchTensors& batch_tensors, bool is_first, const Compute& compute) {
  const State before = save_state();
  std::string reason;
  try {
    (is_first ? first_ : following_) = capture(batch_tensors, is_first, compute);
  } catch (const std::exception& error) {
    reason = first_line(error);
    give_up();
  }
  restore(before);
  if (!reason.empty()) report(reason);
}

// The batch after the recorded one: what the graph has taken from the host, such as the number of the step, differs.
std::vector<components::Loss::Result> BatchGraphs::verify(Recorded& recorded, BatchTensors& batch_tensors,
                                                          const Compute& compute) {
  const State before = save_state();
  const Computed usual = compute_as_usual(batch_tensors, before, compute);
  std::string reason;
  try {
    const std::vector<at::Tensor> again = compute_as_usual(batch_tensors, before, compute).numbers();
    restore(before);
    if (&recorded != first_.get()) {
      support::copy_values(defined(static_gradients_), defined(before.gradients));
      set_gradients(static_gradients_);
    }
    Computed replayed{replay(recorded, batch_tensors), {}, {}, {}};
    take_results(replayed);
    set_gradients(static_gradients_);
    recorded.is_verified = is_repeated(usual.numbers(), again, replayed.numbers());
    if (recorded.is_verified) {
      ++replays_;
      support::log_info("forward, losses and backward of {} are replayed as a CUDA graph",
                        &recorded == first_.get() ? "a batch" : "a step's following batches");
      return replayed.results;
    }
    reason = "a replayed batch had other results than the batch itself";
  } catch (const std::exception& error) {
    reason = first_line(error);
  }
  give_up();
  restore(usual.state);
  batch_tensors.outputs = usual.outputs;
  report(reason);
  return usual.results;
}

BatchGraphs::Computed BatchGraphs::compute_as_usual(BatchTensors batch_tensors, const State& before,
                                                    const Compute& compute) {
  restore(before);
  Computed computed{compute(batch_tensors), {}, {}, {}};
  computed.outputs = batch_tensors.outputs;
  take_results(computed);
  return computed;
}

// Takes the gradients away from the parameters.
void BatchGraphs::take_results(Computed& computed) const {
  const at::NoGradGuard no_grad;
  computed.packed = pack(computed.results);
  computed.state = {support::copy_tensors(written_), gradients(), get_rng_state(training_.device)};
  set_gradients(std::vector<at::Tensor>(parameters_.size()));
}

std::unique_ptr<BatchGraphs::Recorded> BatchGraphs::capture(const BatchTensors& batch_tensors, bool is_first,
                                                            const Compute& compute) {
  if (is_first) {
    for (size_t i = 0; i < fields_.size(); ++i)
      if (!fields_[i].is_cpu()) fields_[i] = batch_tensors.fields[i].clone();
    // Graphs cannot use memory that the allocator has cached.
    c10::getDeviceAllocator(training_.device.type())->emptyCache();
  }
  set_gradients(is_first ? std::vector<at::Tensor>(parameters_.size()) : static_gradients_);
  BatchTensors inputs = batch_tensors;
  inputs.fields = fields_;
  inputs.outputs.clear();
  auto recorded = std::make_unique<Recorded>();
  recorded->graph = training_.make_graph();
  recorded->graph->begin(is_first ? nullptr : first_->graph.get());
  try {
    recorded->results = compute(inputs);
    recorded->packed = pack(recorded->results);
    recorded->graph->end();
  } catch (...) {
    recorded->graph->cancel();
    throw;
  }
  if (is_first) static_gradients_ = gradients();
  for (const at::Tensor& output : inputs.outputs) recorded->outputs.push_back(output.detach());
  recorded->results = unpack(std::move(recorded->results), recorded->packed);  // frees the autograd graph
  return recorded;
}

std::vector<components::Loss::Result> BatchGraphs::replay(Recorded& recorded, BatchTensors& batch_tensors) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> read, given;
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].is_cpu()) continue;  // nothing reads it
    read.push_back(fields_[i]);
    given.push_back(batch_tensors.fields[i]);
  }
  support::copy_values(read, given);
  if (&recorded == first_.get()) {
    set_gradients(static_gradients_);
    is_first_replayed_ = true;
  }
  batch_tensors.outputs = recorded.outputs;
  // Checks the host's copies of the fields, which the recorded work does not.
  BoundDataset& data = *training_.train;
  data.model.front().gather(batch_tensors);
  for (Wiring& loss : data.losses) loss.gather(batch_tensors);
  recorded.graph->replay();
  // The next replay overwrites the results before the host has read them.
  return unpack(recorded.results, recorded.packed.clone());
}

BatchGraphs::State BatchGraphs::save_state() const {
  const at::NoGradGuard no_grad;
  return {support::copy_tensors(written_), copies_of(gradients()), get_rng_state(training_.device)};
}

// The state may be used again: the parameters get copies of its gradients.
void BatchGraphs::restore(const State& state) const {
  const at::NoGradGuard no_grad;
  support::copy_values(written_, state.written);
  set_gradients(copies_of(state.gradients));
  set_rng_state(training_.device, state.random);
}

std::vector<at::Tensor> BatchGraphs::gradients() const {
  std::vector<at::Tensor> list;
  for (const at::Tensor& parameter : parameters_) list.push_back(parameter.grad());
  return list;
}

void BatchGraphs::set_gradients(const std::vector<at::Tensor>& gradients) const {
  for (size_t i = 0; i < parameters_.size(); ++i) at::Tensor(parameters_[i]).mutable_grad() = gradients[i];
}

void BatchGraphs::give_up() {
  forget();
  is_off_ = true;
}

void BatchGraphs::report(const std::string& reason) const {
  if (training_.plan->train.cuda_graph == config::CudaGraph::on)
    throw Error(ErrorKind::configuration,
                "train.cuda_graph: is \"on\", but a batch cannot be replayed: {}; expected \"auto\" or \"off\"",
                reason);
  support::log_warning("the run continues without CUDA graphs: {}; train.cuda_graph = \"off\" avoids the attempt",
                       reason);
}

bool is_repeated(const std::vector<at::Tensor>& usual, const std::vector<at::Tensor>& again,
                 const std::vector<at::Tensor>& replayed) {
  if (replayed.size() != usual.size()) return false;
  const std::vector<double> of_usual = differences(usual, again), of_replayed = differences(usual, replayed);
  const double largest = of_usual.empty() ? 0 : *std::ranges::max_element(of_usual);
  for (size_t i = 0; i < of_replayed.size(); ++i)
    if (!(of_replayed[i] <= kRepeatMargin * largest + kLastPlaces * unit_of(usual[i].scalar_type()))) return false;
  return true;
}

}  // namespace tenon::pipeline
