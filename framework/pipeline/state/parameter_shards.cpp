#include "framework/pipeline/state/parameter_shards.h"

#include <ATen/record_function.h>
#include <torch/types.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "framework/support/check.h"
#include "framework/support/error.h"
#include "framework/support/log.h"
#include "framework/support/print_bytes.h"

namespace tenon::pipeline {

using support::Error;
using support::ErrorKind;

namespace {

constexpr size_t kKept = std::numeric_limits<size_t>::max();
constexpr size_t kOutside = 0;  // the unit of weights that are used outside of segments, or in several

const void* memory_of(const at::Tensor& tensor) {
  return tensor.defined() && tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
}

template <class Use>
void visit_tensors(const c10::IValue& value, Use&& use) {
  if (value.isTensor()) {
    use(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) visit_tensors(element, use);
  }
}

}  // namespace

// Collects the units that use each parameter, from the inputs of the operators of this thread.
class ParameterShards::Observer {
 public:
  explicit Observer(const std::vector<optimization::NamedTensor>& parameters) : users_(parameters.size()) {
    for (size_t i = 0; i < parameters.size(); ++i) by_memory_[memory_of(parameters[i].tensor)].push_back(i);
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
    for (const c10::IValue& input : inputs)
      visit_tensors(input, [this](const at::Tensor& tensor) {
        const void* const memory = memory_of(tensor);
        const auto found = memory ? by_memory_.find(memory) : by_memory_.end();
        if (found == by_memory_.end()) return;
        for (const size_t parameter : found->second) users_[parameter].insert(unit_);
      });
  }

  static thread_local Observer* current_;
  std::unordered_map<const void*, std::vector<size_t>> by_memory_;
  std::vector<std::set<size_t>> users_;  // [parameters]
  size_t unit_ = kOutside;
  at::CallbackHandle handle_;
};

thread_local ParameterShards::Observer* ParameterShards::Observer::current_ = nullptr;

ParameterShards::ParameterShards(distributed::ProcessGroup& group, OptimizerShards& shards, const plugins::Model& model,
                                 const std::vector<optimization::NamedTensor>& parameters)
    : group_(group), shards_(shards), model_(model), parameters_(parameters) {
  for (size_t i = 0; i < parameters_.size(); ++i) index_of_[parameters_[i].tensor.unsafeGetTensorImpl()] = i;
}

ParameterShards::~ParameterShards() = default;

bool ParameterShards::owns(size_t parameter) const { return shards_.owners()[parameter] == group_.rank(); }

void ParameterShards::start_pass(bool trains) {
  started_.clear();
  gathered_ = 0;
  // An evaluation may come before the first pass in training.
  if (state_ == State::undivided && trains) observer_ = std::make_unique<Observer>(parameters_);
  if (is_divided()) gather(kOutside);
}

void ParameterShards::end_pass(bool trains) {
  if (observer_) return divide();
  if (holds_evaluation_ && gathered_ != count_segments_with_weights()) is_other_ = true;
  if (!is_divided()) return;
  const size_t with_weights = count_segments_with_weights();
  if (gathered_ != with_weights) refuse_segments((gathered_ < with_weights ? "fewer segments" : "more segments"));
  if (!trains) free(kOutside);
}

size_t ParameterShards::start_forward(const void* kind) {
  const std::pair key(kind, started_[kind]++);
  auto found = numbers_.find(key);
  if (found == numbers_.end()) {
    if (is_divided()) refuse_segments("another segment");
    // An evaluation that holds all weights: no segment of training.
    if (state_ == State::held) return kKept;
    found = numbers_.emplace(key, numbers_.size()).first;
  }
  const size_t segment = found->second;
  if (observer_) observer_->set_unit(segment + 1);
  if (state_ != State::undivided && !units_[segment + 1].parameters.empty()) ++gathered_;
  if (is_divided()) gather(segment + 1);
  return segment;
}

void ParameterShards::refuse_segments(const std::string& what) const {
  throw Error(ErrorKind::plugin, model_.component().describe() + ": a forward has " + what +
                                     " than the first one in training; with distributed.shard = \"parameters\" "
                                     "expected the same segments in each: set shard = \"gradients\"");
}

void ParameterShards::end_forward(size_t segment) {
  if (observer_) observer_->set_unit(kOutside);
  if (is_divided()) free(segment + 1);
}

void ParameterShards::start_backward(size_t segment) {
  if (is_divided()) gather(segment + 1);
}

void ParameterShards::end_backward(size_t segment) {
  if (is_divided()) free(segment + 1);
}

void ParameterShards::end_backward_pass() {
  if (!is_divided()) return;
  for (size_t unit = 0; unit < units_.size(); ++unit) free(unit);
}

size_t ParameterShards::count_segments_with_weights() const {
  return static_cast<size_t>(std::ranges::count_if(units_.begin() + 1, units_.end(),
                                                   [](const Unit& unit) { return !unit.parameters.empty(); }));
}

void ParameterShards::start_evaluation() {
  is_other_ = false;
  holds_evaluation_ = is_divided() && evaluations_ != Evaluations::by_segment;
  if (holds_evaluation_) hold_all();
}

void ParameterShards::end_evaluation() {
  if (!std::exchange(holds_evaluation_, false)) return;
  if (evaluations_ == Evaluations::unknown) {
    const at::Tensor other = at::full({}, is_other_ ? 1 : 0, at::kLong);
    group_.reduce(distributed::Reduction::maximum, other);
    evaluations_ = *other.const_data_ptr<int64_t>() != 0 ? Evaluations::whole : Evaluations::by_segment;
  }
  free_all();
}

void ParameterShards::join_pass() {
  if (!is_divided()) return;
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    gather(unit);
    if (unit != kOutside) free(unit);
  }
  free(kOutside);
}

bool ParameterShards::may_use(size_t segment, const at::Tensor& tensor) const {
  if (!is_divided()) return true;
  const auto found = index_of_.find(tensor.unsafeGetTensorImpl());
  if (found == index_of_.end()) return true;
  const size_t unit = unit_of_[found->second];
  return unit == segment + 1 || unit == kOutside || unit == kKept;
}

void ParameterShards::divide() {
  std::unordered_map<const void*, size_t> users_of_memory;
  for (const optimization::NamedTensor& named : parameters_) ++users_of_memory[memory_of(named.tensor)];
  units_.resize(numbers_.size() + 1);
  int64_t kept_bytes = 0, outside_bytes = 0, total = 0, largest = 0;
  std::string description;
  std::vector<int64_t> bytes_of(units_.size(), 0);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& tensor = parameters_[i].tensor;
    const auto bytes = static_cast<int64_t>(tensor.nbytes());
    const bool can_free = can_free_storage(tensor) && users_of_memory[memory_of(tensor)] == 1;
    const size_t unit = can_free ? observer_->unit_of(i) : kKept;
    unit_of_.push_back(unit);
    total += bytes;
    description += parameters_[i].name + " " + std::to_string(unit + 1) + "\n";
    if (unit == kKept) {
      kept_bytes += bytes;
      continue;
    }
    units_[unit].parameters.push_back(i);
    bytes_of[unit] += bytes;
    if (unit == kOutside) outside_bytes += bytes;
    largest = std::max(largest, bytes_of[unit]);
  }
  observer_.reset();
  if (total == kept_bytes + outside_bytes)
    throw Error(
        ErrorKind::configuration,
        "distributed.shard: is \"parameters\", but " + model_.component().describe() +
            (numbers_.empty() ? " declares no segments" : " uses no parameter in one segment only") +
            "; expected a model that runs its layers as segments (tenon/checkpointing.h): set shard = \"gradients\"");
  group_.require_equal("the segments of the model", description);
  support::log_debug("rank " + std::to_string(group_.rank()) + " divides " +
                     support::print_bytes(static_cast<uint64_t>(total)) + " of weights in " +
                     std::to_string(units_.size() - 1) + " segments, of at most " +
                     support::print_bytes(static_cast<uint64_t>(largest)) + ", and keeps " +
                     support::print_bytes(static_cast<uint64_t>(outside_bytes + kept_bytes)) + " for the whole pass");
  for (size_t unit = 1; unit < units_.size(); ++unit) free_at_once(unit);
  state_ = State::divided;
}

void ParameterShards::gather(size_t unit) {
  Unit& gathered = units_[unit];
  if (std::exchange(gathered.is_gathered, true)) return;
  std::vector<at::Tensor> tensors;
  for (const size_t parameter : gathered.parameters) {
    const at::Tensor& tensor = parameters_[parameter].tensor;
    if (!owns(parameter)) pool_.allocate(tensor);
    // With a separate version counter: for autograd, the weights that it has saved do not change.
    tensors.push_back(tensor.variable_data());
  }
  if (!tensors.empty()) shards_.gather(tensors, gathered.parameters);
}

void ParameterShards::free(size_t unit) {
  Unit& freed = units_[unit];
  if (!std::exchange(freed.is_gathered, false)) return;
  for (const size_t parameter : freed.parameters)
    if (!owns(parameter)) pool_.free(parameters_[parameter].tensor);
}

// Keeps no memory for the next gather().
void ParameterShards::free_at_once(size_t unit) {
  if (!std::exchange(units_[unit].is_gathered, false)) return;
  for (const size_t parameter : units_[unit].parameters)
    if (!owns(parameter)) free_storage(parameters_[parameter].tensor);
}

void ParameterShards::hold_all() {
  if (!is_divided()) return;
  pool_.clear();
  for (size_t unit = 0; unit < units_.size(); ++unit) gather(unit);
  state_ = State::held;
}

void ParameterShards::free_all() {
  state_ = State::divided;
  for (size_t unit = 0; unit < units_.size(); ++unit) free_at_once(unit);
}

}  // namespace tenon::pipeline
