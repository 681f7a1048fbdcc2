#include "plugins/models/exported/run.h"

#include <ATen/ScalarOps.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/List.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <optional>
#include <stdexcept>
#include <utility>

#include <tenon/error.hpp>

namespace exported {
namespace {

// Sets autograd and autocast as an instruction requires.
class WithSettings {
 public:
  WithSettings(const Settings& settings, c10::DeviceType device) {
    if (settings.gradients) gradients_.emplace(*settings.gradients);
    if (settings.autocast) autocast_.emplace(*settings.autocast, device);
  }

 private:
  class WithAutocast {
   public:
    WithAutocast(const Settings::Autocast& autocast, c10::DeviceType device)
        : device_(device),
          was_enabled_(at::autocast::is_autocast_enabled(device)),
          dtype_(at::autocast::get_autocast_dtype(device)) {
      at::autocast::set_autocast_enabled(device, autocast.is_enabled);
      if (autocast.dtype) at::autocast::set_autocast_dtype(device, *autocast.dtype);
    }
    ~WithAutocast() {
      at::autocast::set_autocast_enabled(device_, was_enabled_);
      at::autocast::set_autocast_dtype(device_, dtype_);
    }
    WithAutocast(const WithAutocast&) = delete;
    WithAutocast& operator=(const WithAutocast&) = delete;

   private:
    const c10::DeviceType device_;
    const bool was_enabled_;
    const c10::ScalarType dtype_;
  };

  std::optional<at::AutoGradMode> gradients_;
  std::optional<WithAutocast> autocast_;
};

class Run {
 public:
  Run(const Program& program, c10::Device device) : device_(device), slots_(program.slot_count) {}

  c10::IValue& operator[](Slot slot) { return slots_[slot]; }

  // Throws tenon::Error that names the node.
  void execute(const Instruction& instruction) {
    try {
      call(instruction);
    } catch (const c10::Error& error) {
      throw tenon::Error(instruction.describe() + ": " + error.what_without_backtrace() + advise(instruction));
    } catch (const std::exception& error) {
      throw tenon::Error(instruction.describe() + ": " + error.what());
    }
  }

  void release(const Instruction& instruction) {
    for (const Slot slot : instruction.released) slots_[slot] = c10::IValue();
  }

 private:
  // A view fails if the strides are others than in Python.
  static const char* advise(const Instruction& instruction) {
    const bool is_view = instruction.op && (instruction.op->operator_name().name == "aten::view" ||
                                            instruction.op->operator_name().name == "aten::_unsafe_view");
    return is_view ? "; with train.memory_format = \"channels_last\", images and weights have other strides: use "
                     "\"contiguous\" or \"auto\", or reshape in place of view"
                   : "";
  }

  void call(const Instruction& instruction) {
    std::vector<c10::IValue> stack;
    stack.reserve(instruction.operands.size());
    for (const Operand& operand : instruction.operands) stack.push_back(evaluate(operand));
    if (instruction.uses_batch_statistics) require_several_values(stack.front().toTensor());
    // The stack then holds the last reference, which the operator releases.
    release(instruction);
    if (instruction.symbolic) {
      stack = {instruction.symbolic(stack)};
    } else if (instruction.settings.gradients || instruction.settings.autocast) {
      const WithSettings within(instruction.settings, device_.type());
      instruction.op->callBoxed(stack);
    } else {
      instruction.op->callBoxed(stack);
    }
    store(instruction, std::move(stack));
  }

  // The message is that of torch.nn.functional.batch_norm, which is not part of a graph.
  static void require_several_values(const at::Tensor& input) {
    TORCH_CHECK(input.dim() < 2 || input.numel() != input.size(1),
                "Expected more than 1 value per channel when training, got input size ", input.sizes());
  }

  c10::IValue evaluate(const Operand& operand) const {
    switch (operand.kind) {
      case Operand::Kind::constant: return operand.constant;
      case Operand::Kind::slot: return slots_[operand.slot];
      case Operand::Kind::slot_as_float: return number(operand).toDouble();
      case Operand::Kind::slot_as_tensor: return as_tensor(operand);
      case Operand::Kind::device: return device_;
      case Operand::Kind::tensors: return list<at::Tensor>(operand);
      case Operand::Kind::optional_tensors: return list<std::optional<at::Tensor>>(operand);
      case Operand::Kind::integers: return list<int64_t>(operand);
      case Operand::Kind::floats: return list<double>(operand);
      case Operand::Kind::booleans: return list<bool>(operand);
    }
    throw std::invalid_argument("an operand has no kind");
  }

  c10::Scalar number(const Operand& operand) const { return slots_[operand.slot].toScalar(); }

  at::Tensor as_tensor(const Operand& operand) const {
    if (slots_[operand.slot].isTensor()) return slots_[operand.slot].toTensor();
    return at::native::wrapped_scalar_tensor(number(operand));
  }

  template <class Element>
  c10::List<Element> list(const Operand& operand) const {
    c10::List<Element> made;
    made.reserve(operand.items.size());
    for (const Operand& item : operand.items) made.push_back(evaluate(item).to<Element>());
    return made;
  }

  void store(const Instruction& instruction, std::vector<c10::IValue> values) {
    for (size_t i = 0; i < instruction.results.size(); ++i) {
      const Result& result = instruction.results[i];
      if (result.is_list) {
        store_list(result, values.at(i).toTensorVector());
      } else if (result.slots.front()) {
        slots_[*result.slots.front()] = std::move(values.at(i));
      }
    }
  }

  void store_list(const Result& result, std::vector<at::Tensor> tensors) {
    if (tensors.size() != result.slots.size())
      throw std::invalid_argument("returned a list of " + std::to_string(tensors.size()) + " tensors; expected " +
                                  std::to_string(result.slots.size()));
    for (size_t i = 0; i < tensors.size(); ++i)
      if (result.slots[i]) slots_[*result.slots[i]] = std::move(tensors[i]);
  }

  const c10::Device device_;
  std::vector<c10::IValue> slots_;
};

// A tensor that must not change during forward.
class Unchanged {
 public:
  Unchanged(at::Tensor tensor, std::string name) : tensor_(std::move(tensor)), name_(std::move(name)) {
    if (!tensor_.is_inference()) version_ = tensor_._version();
  }
  void check() const {
    if (!tensor_.is_inference() && tensor_._version() != version_)
      throw tenon::Error("forward changes " + name_ + " in place");
  }

 private:
  at::Tensor tensor_;
  std::string name_;
  uint32_t version_ = 0;
};

std::vector<Unchanged> set_inputs(const Program& program, Constants& constants, const std::vector<at::Tensor>& weights,
                                  const std::vector<at::Tensor>& inputs, Run& run) {
  const std::vector<at::Tensor> moved = constants.on(inputs.at(0).device());
  std::vector<Unchanged> unchanged;
  for (const ProgramInput& input : program.inputs) {
    switch (input.kind) {
      case ProgramInput::Kind::weight: run[input.slot] = weights.at(input.index); break;
      case ProgramInput::Kind::constant:
        run[input.slot] = moved.at(input.index);
        unchanged.emplace_back(
            moved.at(input.index),
            "\"" + program.constant_names[input.index] +
                "\", which is not part of state_dict(): register it as a buffer with persistent=True");
        break;
      case ProgramInput::Kind::user:
        run[input.slot] = inputs.at(input.index);
        unchanged.emplace_back(inputs.at(input.index),
                               "input " + std::to_string(input.index) + ": use an operation that is not in place");
        break;
    }
  }
  return unchanged;
}

void call_segment_with_slots(const Program& program, const Segment& segment, const CallSegment& call_segment,
                             Run& run) {
  std::vector<c10::IValue> inputs;
  for (const Slot slot : segment.inputs) inputs.push_back(run[slot]);
  std::vector<at::Tensor> outputs = call_segment(segment, inputs);
  for (size_t i = 0; i < outputs.size(); ++i) run[segment.outputs[i]] = std::move(outputs[i]);
  for (const size_t number : segment.numbers) run.execute(program.instructions[number]);
  for (size_t i = segment.begin; i < segment.end; ++i) run.release(program.instructions[i]);
}

}  // namespace

std::vector<at::Tensor> Constants::on(c10::Device device) {
  const std::lock_guard lock(mutex_);
  std::vector<at::Tensor>& tensors = moved_[device];
  if (tensors.empty())
    for (const at::Tensor& tensor : tensors_) tensors.push_back(tensor.to(device));
  return tensors;
}

std::vector<at::Tensor> run(const Program& program, Constants& constants, const std::vector<at::Tensor>& weights,
                            const std::vector<at::Tensor>& inputs, const CallSegment& call_segment) {
  Run run(program, inputs.at(0).device());
  const std::vector<Unchanged> unchanged = set_inputs(program, constants, weights, inputs, run);
  auto segment = call_segment ? program.segments.begin() : program.segments.end();
  for (size_t i = 0; i < program.instructions.size();) {
    if (segment != program.segments.end() && segment->begin == i) {
      call_segment_with_slots(program, *segment, call_segment, run);
      i = (segment++)->end;
    } else {
      run.execute(program.instructions[i++]);
    }
  }
  for (const Unchanged& tensor : unchanged) tensor.check();
  std::vector<at::Tensor> outputs;
  for (const ProgramOutput& output : program.outputs) {
    const c10::IValue& value = run[output.slot];
    if (!value.isTensor() || !value.toTensor().defined())
      throw tenon::Error("output " + std::to_string(output.index) + " is not a tensor");
    if (output.kind == ProgramOutput::Kind::user) {
      outputs.push_back(value.toTensor());
    } else {
      const at::NoGradGuard no_grad;
      weights.at(output.index).copy_(value.toTensor());
    }
  }
  return outputs;
}

std::vector<at::Tensor> run_segment(const Program& program, const Segment& segment, Constants& constants,
                                    const std::vector<at::Tensor>& weights, const std::vector<c10::IValue>& inputs,
                                    c10::Device device) {
  Run run(program, device);
  const std::vector<at::Tensor> moved = constants.on(device);
  for (const ProgramInput& stored : segment.stored)
    run[stored.slot] = stored.kind == ProgramInput::Kind::weight ? weights.at(stored.index) : moved.at(stored.index);
  for (size_t i = 0; i < inputs.size(); ++i) run[segment.inputs[i]] = inputs[i];
  for (size_t i = segment.begin; i < segment.end; ++i) run.execute(program.instructions[i]);
  std::vector<at::Tensor> outputs;
  for (const Slot slot : segment.outputs) outputs.push_back(run[slot].toTensor());
  return outputs;
}

}  // namespace exported
