#include "framework/profiling/operator_log.h"

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "framework/components/tensors/operator_inputs.h"
#include "framework/profiling/operator_macs.h"
#include "framework/support/diagnostics/check.h"

namespace tenon::profiling {

namespace {

using Clock = std::chrono::steady_clock;

// Returns the common dotted prefix of both names.
std::string find_common_module(const std::string& one, const std::string& other) {
  size_t end = 0;
  for (size_t i = 0; i <= std::min(one.size(), other.size()); ++i) {
    const bool one_ends = i == one.size() || one[i] == '.';
    const bool other_ends = i == other.size() || other[i] == '.';
    if (one_ends && other_ends) end = i;
    if (i == one.size() || i == other.size() || one[i] != other[i]) break;
  }
  return one.substr(0, end);
}

// For this thread: the number of active operators, and the number of those with counted MACs.
thread_local int depth = 0;
thread_local int counted_depth = 0;
thread_local size_t outermost = 0;  // index of the outermost operator in the log

struct Call : at::ObserverContext {
  bool is_counted = false;
  Clock::time_point start = Clock::now();
};

}  // namespace

class OperatorLog::Observer {
 public:
  explicit Observer(const std::vector<components::NamedTensor>& model) {
    for (const components::NamedTensor& named : model)
      modules_.emplace(components::memory_of(named.tensor), components::module_of(named.name));
    modules_.erase(nullptr);
  }

  std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
    auto call = std::make_unique<Call>();
    const std::string_view name = function.name();
    const std::scoped_lock lock(mutex_);
    if (depth++ == 0) {
      outermost = operators_.size();
      operators_.push_back({std::string(name), find_module(function.inputs())});
    }
    if (is_uncounted(name)) uncounted_.emplace(name);
    if (counted_depth > 0) return call;
    if (const auto macs = count_macs(name, function.inputs())) {
      operators_[outermost].macs += *macs;
      call->is_counted = true;
      ++counted_depth;
    }
    return call;
  }

  void end(at::ObserverContext* context) {
    const Call& call = *static_cast<const Call*>(context);
    counted_depth -= call.is_counted;
    if (--depth > 0) return;
    const std::scoped_lock lock(mutex_);
    operators_[outermost].seconds = std::chrono::duration<double>(Clock::now() - call.start).count();
  }

  const std::vector<LoggedOperator>& operators() const { return operators_; }
  const std::set<std::string>& uncounted() const { return uncounted_; }

 private:
  std::string find_module(c10::ArrayRef<const c10::IValue> inputs) const {
    const std::string* module = nullptr;
    for (const c10::IValue& input : inputs)
      components::visit_tensors(input, [&](const at::Tensor& tensor) {
        const auto found = modules_.find(components::memory_of(tensor));
        if (!module && found != modules_.end()) module = &found->second;
      });
    return module ? *module : "";
  }

  std::map<const void*, std::string> modules_;
  std::mutex mutex_;
  std::vector<LoggedOperator> operators_;
  std::set<std::string> uncounted_;
};

OperatorLog::Observer* OperatorLog::current_ = nullptr;

OperatorLog::OperatorLog(const std::vector<components::NamedTensor>& model)
    : observer_(std::make_unique<Observer>(model)) {
  TENON_CHECK(current_ == nullptr, "two logs at once");
  current_ = observer_.get();
  handle_ = at::addGlobalCallback(
      at::RecordFunctionCallback([](const at::RecordFunction& function) { return current_->begin(function); },
                                 [](const at::RecordFunction&, at::ObserverContext* call) { current_->end(call); })
          .needsInputs(true)
          .scopes({at::RecordScope::FUNCTION}));
}

OperatorLog::~OperatorLog() {
  at::removeCallback(handle_);
  current_ = nullptr;
}

const std::vector<LoggedOperator>& OperatorLog::operators() const { return observer_->operators(); }

const std::set<std::string>& OperatorLog::uncounted() const { return observer_->uncounted(); }

int64_t OperatorLog::macs() const {
  int64_t sum = 0;
  for (const LoggedOperator& logged : operators()) sum += logged.macs;
  return sum;
}

void complete_modules(std::vector<LoggedOperator>& operators) {
  const auto has_module = [](const LoggedOperator& logged) { return !logged.module.empty(); };
  auto before = operators.end();
  for (auto next = operators.begin(); next != operators.end();) {
    if (has_module(*next)) {
      before = next++;
      continue;
    }
    const auto after = std::find_if(next, operators.end(), has_module);
    std::string module;
    if (before != operators.end() && after != operators.end())
      module = find_common_module(before->module, after->module);
    else if (before != operators.end())
      module = before->module;
    else if (after != operators.end())
      module = after->module;
    for (; next != after; ++next) next->module = module;
  }
}

}  // namespace tenon::profiling
