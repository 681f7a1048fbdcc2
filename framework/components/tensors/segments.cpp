#include "framework/components/tensors/host_extensions.h"

#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/types.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "framework/components/calls/guard.h"
#include "framework/components/calls/host_table.h"
#include "framework/components/tensors/frame.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/support/compute/tensor_lists.h"
#include "framework/support/compute/torch_versions.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::components {

namespace {

using torch::autograd::variable_list;

// The plugin's segment and its state. The destructor releases the state.
class Segment {
 public:
  Segment(const tenon_segment* table, void* self, const Component* component)
      : table_(table), self_(self), component_(component) {}
  ~Segment() {
    if (table_->size >= TENON_SIZE_TO(tenon_segment, release) && table_->release) table_->release(self_);
  }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  const Component& component() const { return *component_; }

  tenon_status call(const Frame& frame, const std::vector<tenon_tensor*>& inputs,
                    std::vector<tenon_tensor*>& outputs) const {
    const tenon_status status =
        table_->forward(self_, frame.get(), inputs.data(), inputs.size(), outputs.data(), outputs.size());
    if (status != TENON_OK) return status;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (!outputs[i]) return fail(TENON_FAILED, "a segment returned no output " + std::to_string(i) + " (null)");
    return TENON_OK;
  }

 private:
  const tenon_segment* table_;
  void* self_;
  const Component* component_;
};

// Saves the random states of the CPU and of the device, and the autocast state, to restore them later.
class ExecutionState {
 public:
  explicit ExecutionState(c10::Device device)
      : device_(device),
        generator_(at::globalContext().defaultGenerator(device)),
        random_state_(generator_.get_state()),
        cpu_generator_(at::globalContext().defaultGenerator(c10::kCPU)),
        cpu_random_state_(device.is_cpu() ? at::Tensor() : cpu_generator_.get_state()),
        autocasts_(at::autocast::is_autocast_enabled(device.type())),
        dtype_(autocasts_ ? at::autocast::get_autocast_dtype(device.type()) : at::kFloat) {}

  void set() const {
    at::Generator generator = generator_;
    generator.set_state(random_state_);
    at::Generator cpu_generator = cpu_generator_;
    if (cpu_random_state_.defined()) cpu_generator.set_state(cpu_random_state_);
    at::autocast::set_autocast_enabled(device_.type(), autocasts_);
    if (autocasts_) at::autocast::set_autocast_dtype(device_.type(), dtype_);
  }

  bool autocasts() const { return autocasts_; }
  const c10::Device& device() const { return device_; }

 private:
  c10::Device device_;
  at::Generator generator_;
  at::Tensor random_state_;
  at::Generator cpu_generator_;
  at::Tensor cpu_random_state_;  // undefined if the device is the CPU
  bool autocasts_;
  at::ScalarType dtype_;
};

// Restores the saved states for the current scope.
class Restored {
 public:
  explicit Restored(const ExecutionState& then) : now_(then.device()), nested_(then.autocasts()) {
    then.set();
    if (nested_) at::autocast::increment_nesting();
  }
  ~Restored() {
    if (nested_ && at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    now_.set();
  }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

 private:
  const ExecutionState now_;
  const bool nested_;
};

// The values of a model's buffers. Recomputing a segment changes them, for example running means that have already seen
// the batch in forward. Which buffers a segment changes is unknown: LibTorch's batch normalisation does not change
// their version.
class SavedBuffers {
 public:
  // Copies the buffers once for all segments of a backward, because restore() follows each of them.
  static std::shared_ptr<const SavedBuffers> of_this_backward(const std::vector<at::Tensor>& buffers) {
    thread_local std::weak_ptr<const SavedBuffers> latest;
    const int task = torch::autograd::get_current_graph_task_id();
    auto saved = latest.lock();
    if (saved && saved->task_ == task && saved->is_of(buffers)) return saved;
    saved = std::make_shared<const SavedBuffers>(task, buffers);
    latest = saved;
    // Keeps the copy until the backward ends. If the backward fails, the engine releases the callback with its task.
    torch::autograd::Engine::get_default_engine().queue_callback([saved] {});
    return saved;
  }

  // variable_data has a separate version, so nodes of the graph that saved a buffer stay valid.
  SavedBuffers(int task, const std::vector<at::Tensor>& buffers) : task_(task) {
    const at::NoGradGuard no_grad;
    for (const at::Tensor& buffer : buffers) buffers_.push_back(buffer.variable_data());
    values_ = support::copy_tensors(buffers_);
  }

  void restore() const {
    const at::NoGradGuard no_grad;
    support::copy_values(buffers_, values_);
  }

  // A checkpoint of the failed run needs the values. If the device has failed, nothing can be restored.
  void restore_after_failure() const noexcept {
    try {
      restore();
    } catch (const std::exception&) {
    }
  }

 private:
  bool is_of(const std::vector<at::Tensor>& buffers) const {
    return std::ranges::equal(buffers, buffers_, [](const at::Tensor& a, const at::Tensor& b) {
      return a.unsafeGetTensorImpl()->storage().is_alias_of(b.storage()) && a.storage_offset() == b.storage_offset();
    });
  }

  int task_;  // the backward
  std::vector<at::Tensor> buffers_;
  std::vector<at::Tensor> values_;
};

// An identity in the graph, which reports that backward enters or leaves a segment.
class Boundary final : public torch::autograd::Node {
 public:
  enum class Side { inputs, outputs };
  Boundary(ForwardObserver& observer, size_t segment, Side side)
      : observer_(observer), segment_(segment), side_(side) {}

  variable_list apply(variable_list&& gradients) override {
    if (side_ == Side::outputs)
      observer_.start_backward(segment_);
    else
      observer_.end_backward(segment_);
    return std::move(gradients);
  }

 private:
  ForwardObserver& observer_;
  size_t segment_;
  Side side_;
};

bool needs_gradient(const at::Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); }

// Returns the tensors after the boundary. LibTorch runs the nodes of a graph in the reverse order of their creation,
// so all nodes of a segment run between those of its boundaries.
variable_list pass_boundary(ForwardObserver& observer, size_t segment, Boundary::Side side,
                            const variable_list& tensors) {
  variable_list inside;
  for (const at::Tensor& tensor : tensors)
    if (needs_gradient(tensor)) inside.push_back(tensor);
  if (inside.empty()) return tensors;
  const auto node = support::make_node<Boundary>(observer, segment, side);
  node->set_next_edges(torch::autograd::collect_next_edges(inside));
  variable_list passed;
  for (const at::Tensor& tensor : tensors) {
    passed.push_back(needs_gradient(tensor) ? tensor.detach() : tensor);
    if (needs_gradient(tensor)) torch::autograd::set_history(passed.back(), node);
  }
  return passed;
}

std::vector<at::Tensor> tensors_of(const tenon_frame* frame) {
  return to_tensors({frame->tensors, frame->tensor_count});
}

// The node of the graph that represents a segment. Its inputs are the segment's inputs and the model's weights.
class Recomputation final : public torch::autograd::Node {
 public:
  Recomputation(std::shared_ptr<const Segment> segment, size_t number, const StepContext& context,
                ExecutionState execution_state)
      : segment_(std::move(segment)),
        number_(number),
        context_(context),
        observer_(std::exchange(context_.forward_observer, nullptr)),
        execution_state_(std::move(execution_state)) {}

  void keep(const variable_list& inputs, std::vector<at::Tensor> frame_tensors, std::vector<at::Tensor> weights,
            std::span<const at::Tensor> buffers) {
    for (const at::Tensor& input : inputs) inputs_.emplace_back(input, /*is_output=*/false);
    frame_tensors_ = std::move(frame_tensors);
    weights_ = std::move(weights);
    buffers_.assign(buffers.begin(), buffers.end());
  }

  variable_list apply(variable_list&& output_gradients) override {
    if (observer_) observer_->start_backward(number_);
    variable_list gradients = compute_gradients(output_gradients);
    if (observer_) observer_->end_backward(number_);
    return gradients;
  }

  void release_variables() override {
    inputs_.clear();
    segment_.reset();
  }

 private:
  variable_list compute_gradients(const variable_list& output_gradients) {
    variable_list leaves;
    for (const torch::autograd::SavedVariable& saved : inputs_) {
      const at::Tensor input = saved.unpack();
      leaves.push_back(input.defined() ? input.detach().requires_grad_(input.requires_grad()) : input);
    }
    const auto saved_buffers = SavedBuffers::of_this_backward(buffers_);
    variable_list outputs;
    try {
      outputs = recompute(leaves, output_gradients.size());
    } catch (...) {
      saved_buffers->restore_after_failure();
      throw;
    }
    saved_buffers->restore();

    variable_list roots, gradients;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!output_gradients[i].defined() || !outputs[i].requires_grad()) continue;
      roots.push_back(outputs[i]);
      gradients.push_back(output_gradients[i]);
    }
    variable_list differentiated;
    for (const at::Tensor& leaf : leaves)
      if (needs_gradient(leaf)) differentiated.push_back(leaf);
    differentiated.insert(differentiated.end(), weights_.begin(), weights_.end());
    variable_list found(differentiated.size());
    if (!roots.empty() && !differentiated.empty())
      found = torch::autograd::grad(roots, differentiated, gradients, /*retain_graph=*/false, /*create_graph=*/false,
                                    /*allow_unused=*/true);
    return spread(leaves, found);
  }

  variable_list recompute(const variable_list& leaves, size_t output_count) {
    TORCH_CHECK(segment_, "a segment of the model was released: backward already ran over it");
    const Restored restored(execution_state_);
    const at::AutoGradMode with_gradients(true);
    const std::vector<tenon_tensor*> handles = to_handles(frame_tensors_);
    Frame frame(context_, handles);
    frame.set_buffers(buffers_);
    const std::vector<tenon_tensor*> inputs = to_handles(leaves);
    std::vector<tenon_tensor*> given(output_count, nullptr);
    call_plugin(
        segment_->component(), "forward of a segment, recomputed in backward",
        [&] { return segment_->call(frame, inputs, given); }, context_.at());
    return to_tensors(given);
  }

  // One gradient for each edge: inputs, then weights.
  variable_list spread(const variable_list& leaves, const variable_list& found) const {
    variable_list all;
    size_t next = 0;
    for (const at::Tensor& leaf : leaves) all.push_back(needs_gradient(leaf) ? found[next++] : at::Tensor());
    while (next < found.size()) all.push_back(found[next++]);
    return all;
  }

  std::shared_ptr<const Segment> segment_;
  size_t number_;
  StepContext context_;
  ForwardObserver* observer_;  // null: none
  ExecutionState execution_state_;
  std::vector<torch::autograd::SavedVariable> inputs_;
  std::vector<at::Tensor> frame_tensors_;
  std::vector<at::Tensor> weights_;
  std::vector<at::Tensor> buffers_;
};

// The device of a segment: that of its inputs, or of the model's tensors if it has no inputs.
c10::Device device_of(const variable_list& inputs, const std::vector<at::Tensor>& frame_tensors) {
  for (const variable_list* tensors : {&inputs, &frame_tensors})
    for (const at::Tensor& tensor : *tensors)
      if (tensor.defined()) return tensor.device();
  return c10::kCPU;
}

// Computes a segment without a graph. Its outputs are connected to a node that recomputes it.
variable_list run_without_graph(Frame& frame, const std::shared_ptr<const Segment>& segment, size_t number,
                                const variable_list& inputs, size_t output_count, tenon_status& status) {
  const ForwardObserver* const observer = frame.context().forward_observer;
  std::vector<at::Tensor> frame_tensors = tensors_of(frame.get());
  std::vector<at::Tensor> weights;
  for (const at::Tensor& tensor : frame_tensors)
    if (needs_gradient(tensor) && tensor.is_leaf() && (!observer || observer->may_use(number, tensor)))
      weights.push_back(tensor);
  auto node = support::make_node<Recomputation>(segment, number, frame.context(),
                                                ExecutionState(device_of(inputs, frame_tensors)));

  variable_list outputs;
  {
    const at::NoGradGuard no_grad;
    // A separate frame releases the segment's intermediate tensors.
    const std::vector<tenon_tensor*> handles = to_handles(frame_tensors);
    Frame inner(frame.context(), handles);
    inner.set_buffers(frame.buffers());
    inner.set_observer(nullptr);
    std::vector<tenon_tensor*> given(output_count, nullptr);
    status = segment->call(inner, to_handles(inputs), given);
    if (status != TENON_OK) return {};
    for (const tenon_tensor* handle : given) outputs.push_back(to_tensor(handle).detach());
  }
  variable_list ends = inputs;
  ends.insert(ends.end(), weights.begin(), weights.end());
  node->set_next_edges(torch::autograd::collect_next_edges(ends));
  node->keep(inputs, std::move(frame_tensors), std::move(weights), frame.buffers());
  for (at::Tensor& output : outputs)
    if (torch::autograd::isDifferentiableType(output.scalar_type()))
      torch::autograd::set_history(output, node);
    else
      node->add_input_metadata(torch::autograd::Node::undefined_input());
  return outputs;
}

// Computes a segment as a part of the model's graph. The observer, if there is one, sees it in backward, too.
variable_list run_in_graph(Frame& frame, const Segment& segment, size_t number, const variable_list& inputs,
                           size_t output_count, bool runs_backward, tenon_status& status) {
  ForwardObserver* const observer = frame.context().forward_observer;
  variable_list passed = inputs;
  if (observer && runs_backward) passed = pass_boundary(*observer, number, Boundary::Side::inputs, inputs);
  std::vector<tenon_tensor*> given(output_count, nullptr);
  frame.set_observer(nullptr);
  status = segment.call(frame, to_handles(passed), given);
  frame.set_observer(observer);
  if (status != TENON_OK) return {};
  variable_list outputs = to_tensors(given);
  if (observer && runs_backward) outputs = pass_boundary(*observer, number, Boundary::Side::outputs, outputs);
  return outputs;
}

tenon_status run(const tenon_frame* base, const tenon_segment* table, void* self, tenon_tensor* const* inputs,
                 uint64_t input_count, tenon_tensor** outputs, uint64_t output_count) {
  if (!table || table->size < TENON_SIZE_TO(tenon_segment, forward) || !table->forward)
    return fail(TENON_INVALID_ARGUMENT, "run: the segment is null or cut short; expected forward");
  Frame& frame = Frame::of(base);
  const auto segment = std::make_shared<const Segment>(table, self, breadcrumb().component);
  if (!frame.is_on_this_thread() || !breadcrumb().component)
    return fail(TENON_WRONG_THREAD, "a segment is run on a thread other than its frame's");
  try {
    const variable_list given = to_tensors({inputs, input_count});
    const bool runs_backward = at::GradMode::is_enabled() && (std::ranges::any_of(given, needs_gradient) ||
                                                              std::ranges::any_of(tensors_of(base), needs_gradient));
    ForwardObserver* const observer = frame.context().forward_observer;
    const size_t number = observer ? observer->start_forward(table) : 0;
    tenon_status status = TENON_OK;
    variable_list results = frame.context().checkpoints_activations && runs_backward
                                ? run_without_graph(frame, segment, number, given, output_count, status)
                                : run_in_graph(frame, *segment, number, given, output_count, runs_backward, status);
    if (observer && status == TENON_OK) observer->end_forward(number);
    for (size_t i = 0; i < results.size(); ++i) outputs[i] = frame.keep(std::move(results[i]));
    return status;
  } catch (const c10::Error& error) {
    return fail(TENON_FAILED, std::string("run of a segment: ") + error.what_without_backtrace());
  } catch (const std::exception& error) {
    return fail(TENON_FAILED, error.what());
  }
}

constexpr tenon_checkpointing kCheckpointing{sizeof(tenon_checkpointing), run};

}  // namespace

const tenon_checkpointing& checkpointing_extension() { return kCheckpointing; }

}  // namespace tenon::components
