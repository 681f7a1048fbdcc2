#include "framework/components/tensors/host_extensions.h"

#include <torch/autograd.h>
#include <torch/types.h>

#include <utility>
#include <vector>

#include "framework/components/calls/guard.h"
#include "framework/components/calls/host_table.h"
#include "framework/components/tensors/frame.h"
#include "framework/components/tensors/tensor_handles.h"

namespace tenon::components {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

const std::vector<tenon_tensor*> kNoTensors;

// The node of the graph keeps it until backward.
struct Application final : torch::CustomClassHolder {
  const tenon_function* function;
  void* self;
  const Component* component;  // the component that applied it in forward; errors of backward name it
  StepContext step_context;
  uint64_t output_count;
  uint64_t saved_count;
};

class PluginFunction : public torch::autograd::Function<PluginFunction> {
 public:
  // One argument per tensor: LibTorch finds variables among the arguments, not inside a list.
  template <class... Tensors>
  static variable_list forward(AutogradContext* context, const c10::intrusive_ptr<Application>& application,
                               const Tensors&... inputs) {
    Frame frame(application->step_context, kNoTensors);
    const std::vector<tenon_tensor*> input_handles{to_handle(inputs)...};
    std::vector<tenon_tensor*> outputs(application->output_count, nullptr);
    std::vector<tenon_tensor*> saved(application->saved_count, nullptr);
    call_plugin(*application->component, "forward of a function", [&] {
      return application->function->forward(application->self, frame.get(), input_handles.data(), input_handles.size(),
                                            outputs.data(), outputs.size(), saved.data(), saved.size());
    });
    for (size_t i = 0; i < outputs.size(); ++i)
      if (!outputs[i])
        throw_plugin_error(*application->component, "forward of a function", "returned no output {} (null)", i);
    context->save_for_backward(to_tensors(saved));
    context->saved_data["application"] = c10::IValue::make_capsule(application);
    context->saved_data["input_count"] = static_cast<int64_t>(sizeof...(inputs));
    // The plugin gets null as the gradient of an unused output. Zeros would cost a tensor.
    context->set_materialize_grads(false);
    return to_tensors(outputs);
  }

  static variable_list backward(AutogradContext* context, const variable_list& output_gradients) {
    const auto capsule = context->saved_data["application"].toCapsule();
    const Application& application = static_cast<const Application&>(*capsule);
    Frame frame(application.step_context, kNoTensors);
    const variable_list kept = context->get_saved_variables();
    const std::vector<tenon_tensor*> saved = to_handles(kept);
    const std::vector<tenon_tensor*> gradients = to_handles(output_gradients);
    std::vector<tenon_tensor*> input_gradients(static_cast<size_t>(context->saved_data["input_count"].toInt()),
                                               nullptr);
    call_plugin(*application.component, "backward of a function", [&] {
      return application.function->backward(application.self, frame.get(), saved.data(), saved.size(), gradients.data(),
                                            gradients.size(), input_gradients.data(), input_gradients.size());
    });
    variable_list result{at::Tensor()};  // for the argument `application`
    for (at::Tensor& gradient : to_tensors(input_gradients)) result.push_back(std::move(gradient));
    return result;
  }
};

constexpr size_t kMaxInputs = 16;

template <size_t... index>
variable_list apply_to_all(const c10::intrusive_ptr<Application>& application, const std::vector<at::Tensor>& inputs,
                           std::index_sequence<index...>) {
  return PluginFunction::apply(application, inputs[index]...);
}

// Calls apply with one argument per input, 1 to kMaxInputs.
template <size_t count = 1>
variable_list apply_to(const c10::intrusive_ptr<Application>& application, const std::vector<at::Tensor>& inputs) {
  if constexpr (count < kMaxInputs)
    if (inputs.size() != count) return apply_to<count + 1>(application, inputs);
  return apply_to_all(application, inputs, std::make_index_sequence<count>());
}

tenon_status apply(const tenon_frame* base, const tenon_function* function, void* self, tenon_tensor* const* inputs,
                   uint64_t input_count, tenon_tensor** outputs, uint64_t output_count, uint64_t saved_count) {
  Frame& frame = Frame::of(base);
  if (!frame.is_on_this_thread() || !breadcrumb().component)
    return fail(TENON_WRONG_THREAD, "a function is applied on a thread other than its frame's");
  if (!function || function->size < TENON_SIZE_TO(tenon_function, backward) || !function->forward ||
      !function->backward)
    return fail(TENON_INVALID_ARGUMENT, "apply: the function is null or cut short; expected forward and backward");
  if (input_count == 0 || input_count > kMaxInputs)
    return fail(TENON_INVALID_ARGUMENT, "apply: the function gets {} inputs; expected 1 to {}", input_count,
                size_t{kMaxInputs});
  auto application = c10::make_intrusive<Application>();
  application->function = function;
  application->self = self;
  application->component = breadcrumb().component;
  application->step_context = frame.context();
  application->output_count = output_count;
  application->saved_count = saved_count;
  try {
    variable_list results = apply_to(application, to_tensors({inputs, input_count}));
    for (uint64_t i = 0; i < output_count; ++i) outputs[i] = frame.keep(std::move(results[i]));
    return TENON_OK;
  } catch (const c10::Error& error) {
    return fail(TENON_FAILED, std::string("apply: ") + error.what_without_backtrace());
  } catch (const std::exception& error) {
    return fail(TENON_FAILED, error.what());
  }
}

constexpr tenon_gradient kGradient{sizeof(tenon_gradient), apply};

}  // namespace

const tenon_gradient& gradient_extension() { return kGradient; }

}  // namespace tenon::components
