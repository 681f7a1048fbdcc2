#include "framework/components/kinds/failed_operator.h"

#include <ATen/record_function.h>

#include <exception>
#include <memory>

#include "framework/components/tensors/operator_inputs.h"
#include "framework/components/tensors/tensor_handles.h"

namespace tenon::components {

namespace {

// A view of a model's tensor counts as the tensor, unless others share its memory.
const NamedTensor* find_named(const std::vector<NamedTensor>& model, const at::Tensor& tensor) {
  const NamedTensor* owner = nullptr;
  int owners = 0;
  for (const NamedTensor& named : model) {
    if (named.tensor.is_same(tensor)) return &named;
    if (!tensor.has_storage() || !named.tensor.has_storage() || !named.tensor.is_alias_of(tensor)) continue;
    owner = &named;
    ++owners;
  }
  return owners == 1 ? owner : nullptr;
}

// Follows the outermost operators: a convolution, not the operators inside it.
class Search {
 public:
  explicit Search(const std::vector<NamedTensor>& model) : model_(model) {}

  void begin(const at::RecordFunction& function) {
    if (depth_++ > 0) return;
    current_ = {};
    std::string tensors;
    const auto add = [&](const at::Tensor& tensor) {
      const NamedTensor* const named = find_named(model_, tensor);
      if (named && current_.module.empty()) current_.module = module_of(named->name);
      tensors += (tensors.empty() ? "" : ", ") + (named ? named->name + ": " : std::string()) + describe(tensor);
    };
    for (const c10::IValue& input : function.inputs()) visit_tensors(input, add);
    current_.call = std::string(function.name()) + "(" + tensors + ")";
  }

  void end() {
    if (--depth_ > 0) return;
    if (std::uncaught_exceptions() > exceptions_before_)
      failed_ = current_.call + (current_.module.empty() && !last_module_.empty() ? ", after " + last_module_ : "");
    else if (!current_.module.empty())
      last_module_ = current_.module;
  }

  const std::string& failed() const { return failed_; }

 private:
  struct Operator {
    std::string call;
    std::string module;  // of its first tensor that is the model's; else ""
  };

  const std::vector<NamedTensor>& model_;
  const int exceptions_before_ = std::uncaught_exceptions();
  int depth_ = 0;
  Operator current_;
  std::string last_module_, failed_;
};

thread_local Search* current_search = nullptr;  // LibTorch's callbacks have no state

}  // namespace

std::string find_failed_operator(const std::vector<NamedTensor>& model, const std::function<void()>& forward) {
  Search search(model);
  current_search = &search;
  const at::CallbackHandle callback =
      at::addThreadLocalCallback(at::RecordFunctionCallback(
                                     [](const at::RecordFunction& function) -> std::unique_ptr<at::ObserverContext> {
                                       current_search->begin(function);
                                       return nullptr;
                                     },
                                     [](const at::RecordFunction&, at::ObserverContext*) { current_search->end(); })
                                     .needsInputs(true)
                                     .scopes({at::RecordScope::FUNCTION}));
  bool has_failed = false;
  try {
    forward();
  } catch (const std::exception&) {
    has_failed = true;
  }
  at::removeCallback(callback);
  current_search = nullptr;
  return has_failed ? search.failed() : "";
}

}  // namespace tenon::components
