#include "framework/pipeline/state/parameter_shards.h"

#include <ATen/record_function.h>
#include <torch/types.h>

#include <algorithm>
#include <functional>
#include <set>

#include "framework/components/tensors/operator_inputs.h"
#include "framework/support/diagnostics/check.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/text/format_values.h"

namespace tenon::pipeline {

using support::Error;
using support::ErrorKind;

namespace {

constexpr size_t kOutside = 0;  // the unit of weights that are used outside of segments, or in several

}  // namespace

// Collects the units that use each parameter, from the inputs of the operators of this thread.
class ParameterShards::Observer {
 public:
  // `use`: called before an operator reads the parameter.
  Observer(const std::vector<optimization::NamedTensor>& parameters, std::function<void(size_t)> use)
      : use_(std::move(use)), users_(parameters.size()) {
    for (size_t i = 0; i < parameters.size(); ++i) by_memory_[components::memory_of(parameters[i].tensor)].push_back(i);
    TENON_CHECK(current_ == nullptr, "two observers at once");
    current_ = this;
    handle_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback([](const at::RecordFunction& function) -> std::unique_ptr<at::ObserverContext> {
          current_->note(function.inputs());
          return nullptr;
        })
            .needsInputs(true)
            .scopes({at::RecordScope::FUNCTION}));
  }
  ~Observer() {
    at::removeCallback(handle_);
    current_ = nullptr;
  }
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  void set_unit(size_t unit) { unit_ = unit; }

  // The unit of a parameter: that of the only segment that uses it.
  size_t unit_of(size_t parameter) const {
    const std::set<size_t>& users = users_[parameter];
    return users.size() == 1 ? *users.begin() : kOutside;
  }

 private:
  void note(c10::ArrayRef<const c10::IValue> inputs) {
    if (is_using_) return;  // an operator that gathers the parameter
    for (const c10::IValue& input : inputs)
      components::visit_tensors(input, [this](const at::Tensor& tensor) {
        const void* const memory = components::memory_of(tensor);
        const auto found = memory ? by_memory_.find(memory) : by_memory_.end();
        if (found == by_memory_.end()) return;
        is_using_ = true;
        for (const size_t parameter : found->second) {
          users_[parameter].insert(unit_);
          use_(parameter);
        }
        is_using_ = false;
      });
  }

  static thread_local Observer* current_;
  std::function<void(size_t)> use_;
  bool is_using_ = false;
  std::unordered_map<const void*, std::vector<size_t>> by_memory_;
  std::vector<std::set<size_t>> users_;  // [parameters]
  size_t unit_ = kOutside;
  at::CallbackHandle handle_;
};

thread_local ParameterShards::Observer* ParameterShards::Observer::current_ = nullptr;

ParameterShards::ParameterShards(distributed::ProcessGroup& group, OptimizerShards& shards,
                                 const components::Model& model, DividedWeights weights)
    : group_(group),
      shards_(shards),
      model_(model.component().describe()),
      weights_(std::move(weights)),
      is_freed_(weights_.tensors.size()),
      is_gathered_(weights_.tensors.size(), false) {
  for (size_t i = 0; i < weights_.tensors.size(); ++i) {
    index_of_[weights_.tensors[i].tensor.unsafeGetTensorImpl()] = i;
    is_freed_[i] = !has_storage(weights_.tensors[i].tensor);
  }
}

ParameterShards::~ParameterShards() = default;

void ParameterShards::start_pass(bool trains) {
  layout_ = &layouts_[trains ? 1 : 0];
  started_.clear();
  gathered_ = 0;
  if (!layout_->is_known) {
    observer_ = std::make_unique<Observer>(weights_.tensors, [this](size_t parameter) { use(parameter); });
    return;
  }
  gather(layout_->units[kOutside]);
  gather_ahead(*layout_, kOutside, 1);
}

void ParameterShards::end_pass(bool trains) {
  if (observer_) {
    rethrow_failure();
    learn(*layout_);
    if (trains) require_segments(*layout_);
    observer_.reset();
  }
  if (gathered_ != layout_->with_weights)
    refuse_segments(gathered_ < layout_->with_weights ? "fewer segments" : "more segments");
  if (trains)
    gather_ahead(*layout_, layout_->units.size(), -1);
  else
    free_all();
}

// Gathers a weight of which it is not known that the current segment uses it. LibTorch ignores exceptions of observers
// and then runs the operator, which needs memory.
void ParameterShards::use(size_t parameter) {
  if (is_gathered_[parameter]) return;
  try {
    if (failure_) std::rethrow_exception(failure_);
    group_.require_equal("the weights that the model uses", weights_.tensors[parameter].name);
    gather({parameter});
  } catch (...) {
    failure_ = std::current_exception();
    const at::Tensor& tensor = weights_.tensors[parameter].tensor;
    if (!has_storage(tensor)) pool_.allocate(tensor);
  }
}

void ParameterShards::rethrow_failure() const {
  if (failure_) std::rethrow_exception(failure_);
}

size_t ParameterShards::start_forward(const void* kind) {
  const std::pair key(kind, started_[kind]++);
  auto found = layout_->numbers.find(key);
  if (found == layout_->numbers.end()) {
    if (layout_->is_known) refuse_segments("another segment");
    found = layout_->numbers.emplace(key, layout_->numbers.size()).first;
  }
  const size_t segment = found->second;
  if (observer_) observer_->set_unit(segment + 1);
  if (!layout_->is_known) return segment;
  const Unit& unit = layout_->units[segment + 1];
  if (!unit.empty()) ++gathered_;
  gather(unit);
  gather_ahead(*layout_, segment + 1, 1);
  return segment;
}

void ParameterShards::refuse_segments(const std::string& what) const {
  throw Error(ErrorKind::plugin, model_ + ": a forward has " + what +
                                     " than the first one; with distributed.shard = \"parameters\" expected the same "
                                     "segments in each: set shard = \"gradients\"");
}

void ParameterShards::end_forward(size_t segment) {
  if (layout_->is_known) return free(layout_->units[segment + 1]);
  rethrow_failure();
  observer_->set_unit(kOutside);
  Unit used;
  for (size_t i = 0; i < weights_.tensors.size(); ++i)
    if (observer_->unit_of(i) == segment + 1) used.push_back(i);
  free(used);
}

void ParameterShards::start_backward(size_t segment) {
  gather(of_training().units[segment + 1]);
  gather_ahead(of_training(), segment + 1, -1);
}

void ParameterShards::end_backward(size_t segment) { free(of_training().units[segment + 1]); }

void ParameterShards::end_backward_pass() { free_all(); }

void ParameterShards::join_pass() {
  const std::vector<Unit>& units = of_evaluation().units;
  for (const Unit& unit : units) {
    gather(unit);
    if (&unit != &units[kOutside]) free(unit);
  }
  free(units[kOutside]);
}

bool ParameterShards::may_use(size_t segment, const at::Tensor& tensor) const {
  if (!of_training().is_known) return true;
  const auto found = index_of_.find(tensor.unsafeGetTensorImpl());
  if (found == index_of_.end()) return true;
  const size_t unit = of_training().unit_of[found->second];
  return unit == segment + 1 || unit == kOutside;
}

std::vector<components::NamedTensor> ParameterShards::select_stored(
    const std::vector<components::NamedTensor>& tensors) const {
  std::vector<components::NamedTensor> stored = tensors;
  std::erase_if(stored, [this](const components::NamedTensor& named) {
    const auto found = index_of_.find(named.tensor.unsafeGetTensorImpl());
    return found == index_of_.end() ? group_.rank() != 0 : weights_.owners[found->second] != group_.rank();
  });
  return stored;
}

void ParameterShards::learn(Layout& layout) {
  layout.units.resize(layout.numbers.size() + 1);
  std::vector<int64_t> bytes_of(layout.units.size(), 0);
  int64_t total = 0;
  std::string description;
  for (size_t i = 0; i < weights_.tensors.size(); ++i) {
    const size_t unit = observer_->unit_of(i);
    layout.unit_of.push_back(unit);
    layout.units[unit].push_back(i);
    const auto bytes = static_cast<int64_t>(weights_.tensors[i].tensor.nbytes());
    bytes_of[unit] += bytes;
    total += bytes;
    description += weights_.tensors[i].name + " " + std::to_string(unit) + "\n";
  }
  layout.with_weights = static_cast<size_t>(std::ranges::count_if(layout.units.begin() + 1, layout.units.end(),
                                                                  [](const Unit& unit) { return !unit.empty(); }));
  gathered_ = layout.with_weights;
  layout.is_known = true;
  group_.require_equal("the segments of the model", description);
  // Backward needs them, and the other ranks may have used different ones.
  gather(layout.units[kOutside]);
  const auto print = [](int64_t bytes) { return support::format_bytes(static_cast<uint64_t>(bytes)); };
  const int64_t outside = std::exchange(bytes_of[kOutside], 0);
  support::log_debug("rank {} gathers {} of weights in {} segments, of at most {}, and {} for the whole pass",
                     group_.rank(), print(total), layout.with_weights, print(*std::ranges::max_element(bytes_of)),
                     print(outside));
}

void ParameterShards::require_segments(const Layout& layout) const {
  if (layout.with_weights > 0) return;
  throw Error(ErrorKind::configuration,
              "distributed.shard: is \"parameters\", but {}{}; expected a model that runs its layers as segments "
              "(tenon/checkpointing.h): set shard = \"gradients\"",
              model_, layout.numbers.empty() ? " declares no segments" : " uses no parameter in one segment only");
}

std::pair<std::vector<at::Tensor>, std::vector<int64_t>> ParameterShards::allocate(const Unit& unit) {
  std::vector<at::Tensor> tensors;
  std::vector<int64_t> owners;
  for (const size_t parameter : unit) {
    if (is_gathered_[parameter]) continue;
    is_gathered_[parameter] = true;
    const at::Tensor& tensor = weights_.tensors[parameter].tensor;
    if (is_freed_[parameter]) pool_.allocate(tensor);
    // With a separate version counter: for autograd, the weights that it has saved do not change.
    tensors.push_back(tensor.variable_data());
    owners.push_back(weights_.owners[parameter]);
  }
  return {std::move(tensors), std::move(owners)};
}

void ParameterShards::gather(const Unit& unit) {
  pending_.wait();
  const auto [tensors, owners] = allocate(unit);
  if (!tensors.empty()) shards_.tensors().gather(tensors, owners);
}

void ParameterShards::gather_ahead(const Layout& layout, size_t unit, ptrdiff_t direction) {
  if (!shards_.tensors().can_overlap()) return;
  const auto end = static_cast<ptrdiff_t>(direction > 0 ? layout.units.size() : kOutside);
  for (auto next = static_cast<ptrdiff_t>(unit) + direction; next != end; next += direction) {
    const Unit& ahead = layout.units[static_cast<size_t>(next)];
    if (ahead.empty()) continue;
    const auto [tensors, owners] = allocate(ahead);
    if (!tensors.empty()) pending_ = shards_.tensors().start_gather(tensors, owners);
    return;
  }
}

void ParameterShards::free(const Unit& unit) {
  for (const size_t parameter : unit) {
    if (!is_gathered_[parameter]) continue;
    is_gathered_[parameter] = false;
    if (is_freed_[parameter]) pool_.free(weights_.tensors[parameter].tensor);
  }
}

void ParameterShards::free_all() {
  pending_.wait();
  for (size_t i = 0; i < weights_.tensors.size(); ++i) free({i});
}

}  // namespace tenon::pipeline
