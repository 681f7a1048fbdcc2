#include "framework/profiling/operator_log.h"

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>

#include "framework/components/tensors/operator_inputs.h"
#include "framework/support/diagnostics/check.h"

namespace tenon::profiling {

namespace {

// ---- Multiply-accumulates -------------------------------------------------------------------------------------------

using Inputs = c10::ArrayRef<const c10::IValue>;

c10::IntArrayRef sizes_of(const c10::IValue& input) { return input.toTensor().sizes(); }

int64_t product(c10::IntArrayRef sizes) { return c10::multiply_integers(sizes); }

// Counts the product of [..., n, k] with [..., k, m] or [k].
int64_t multiply(const c10::IValue& left, const c10::IValue& right) {
  const c10::IntArrayRef second = sizes_of(right);
  return product(sizes_of(left)) * (second.size() < 2 ? 1 : second.back());
}

// Each weight element is used once per position of the output, or of the input if the input is smaller.
int64_t convolve(c10::IntArrayRef smaller, const c10::IValue& weight) {
  return smaller[0] * product(smaller.slice(2)) * product(sizes_of(weight));
}

// Inputs: input, weight, bias, stride, padding, dilation, transposed.
int64_t count_convolution(Inputs inputs) {
  const c10::IntArrayRef input = sizes_of(inputs[0]);
  if (inputs[6].toBool()) return convolve(input, inputs[1]);
  const c10::IntArrayRef weight = sizes_of(inputs[1]);
  const std::vector<int64_t> stride = inputs[3].toIntVector(), padding = inputs[4].toIntVector(),
                             dilation = inputs[5].toIntVector();
  // One number can apply to all dimensions.
  const auto at = [](const std::vector<int64_t>& numbers, size_t i) {
    return numbers[std::min(i, numbers.size() - 1)];
  };
  std::vector<int64_t> output{input[0], weight[0]};
  for (size_t i = 0; i + 2 < input.size(); ++i)
    output.push_back((input[i + 2] + 2 * at(padding, i) - at(dilation, i) * (weight[i + 2] - 1) - 1) / at(stride, i) +
                     1);
  return convolve(output, inputs[1]);
}

// Inputs: gradient of the output, input, weight, bias sizes, stride, padding, dilation, transposed, output padding,
// groups, mask.
int64_t count_convolution_backward(Inputs inputs) {
  const auto mask = inputs[10].toBoolList();
  const int64_t gradients = int64_t{mask.get(0)} + int64_t{mask.get(1)};
  return gradients * convolve(sizes_of(inputs[inputs[7].toBool() ? 1 : 0]), inputs[2]);
}

// MACs for all heads and sequences: the scores of `queries` and `keys`, and the weighted values.
struct AttentionProducts {
  int64_t scores;
  int64_t values;
};

// Shapes: query [..., L, E], key [..., S, E], value [..., S, Ev].
AttentionProducts attend(const c10::IValue& query, const c10::IValue& key, const c10::IValue& value) {
  const c10::IntArrayRef keys = sizes_of(key);
  const c10::IntArrayRef queries = sizes_of(query);
  const int64_t scores = product(queries) * keys[keys.size() - 2];
  return {scores, scores / queries.back() * sizes_of(value).back()};
}

int64_t count_attention(Inputs inputs) {
  const AttentionProducts products = attend(inputs[0], inputs[1], inputs[2]);
  return products.scores + products.values;
}

// Backward recomputes the scores and computes the gradients of queries, keys, values and attention weights.
int64_t count_attention_backward(Inputs inputs) {
  const AttentionProducts products = attend(inputs[1], inputs[2], inputs[3]);
  return 3 * products.scores + 2 * products.values;
}

using Count = int64_t (*)(Inputs);

// Counts the multiply-accumulates (MACs) of a call with these inputs, as in the operator's schema. Nothing for
// operators that are not counted, which may call counted ones. Attention is counted in full, even if a mask removes
// half of it.
//
// The gradients of a convolution with respect to its input and its weight each have the MACs of the convolution. For
// the weight of a grouped convolution, FlopCounterMode reports more: it multiplies by the number of groups.
std::optional<int64_t> count_macs(std::string_view name, Inputs inputs) {
  static const Count of_two = [](Inputs inputs) { return multiply(inputs[0], inputs[1]); };
  static const Count of_last_two = [](Inputs inputs) { return multiply(inputs[1], inputs[2]); };
  static const std::map<std::string_view, Count> table{
      {"aten::mm", of_two},
      {"aten::bmm", of_two},
      {"aten::mv", of_two},
      {"aten::dot", of_two},
      {"aten::addmm", of_last_two},
      {"aten::addmv", of_last_two},
      {"aten::baddbmm", of_last_two},
      {"aten::convolution", count_convolution},
      {"aten::_convolution", count_convolution},
      {"aten::convolution_backward", count_convolution_backward},
      {"aten::scaled_dot_product_attention", count_attention},
      {"aten::_scaled_dot_product_flash_attention_backward", count_attention_backward},
      {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", count_attention_backward},
      {"aten::_scaled_dot_product_efficient_attention_backward", count_attention_backward},
      {"aten::_scaled_dot_product_cudnn_attention_backward", count_attention_backward},
  };
  const auto count = table.find(name);
  return count == table.end() ? std::nullopt : std::optional(count->second(inputs));
}

// ---- The log --------------------------------------------------------------------------------------------------------

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

bool is_uncounted(std::string_view name) {
  return name == "aten::_cudnn_rnn" || name == "aten::_cudnn_rnn_backward" || name == "aten::mkldnn_rnn_layer" ||
         name == "aten::mkldnn_rnn_layer_backward";
}

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
