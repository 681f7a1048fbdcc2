// A graph in the form in which it runs: instructions over numbered slots.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace exported {

using Slot = size_t;

// An argument of an instruction, or an element of one.
struct Operand {
  enum class Kind {
    constant,        // `constant`
    slot,            // the value of `slot`
    slot_as_float,   // a number as float64
    slot_as_tensor,  // a number as a tensor of no dimensions, as Python passes it for a tensor
    device,          // the device of the inputs
    tensors,         // the lists have `items`
    optional_tensors,
    integers,
    floats,
    booleans
  };
  Kind kind = Kind::constant;
  c10::IValue constant = {};
  Slot slot = 0;
  std::vector<Operand> items = {};
};

// Calls `visit` with each slot that the operand reads.
template <class Visit>
void visit_slots(const Operand& operand, Visit&& visit) {
  const bool reads = operand.kind == Operand::Kind::slot || operand.kind == Operand::Kind::slot_as_float ||
                     operand.kind == Operand::Kind::slot_as_tensor;
  if (reads) visit(operand.slot);
  for (const Operand& item : operand.items) visit_slots(item, visit);
}

// A result of an instruction.
struct Result {
  bool is_list = false;
  std::vector<std::optional<Slot>> slots;  // one unless is_list; absent if nothing reads the value
};

// Computes a Python number from numbers.
using SymbolicFunction = c10::IValue (*)(const std::vector<c10::IValue>& arguments);

// The settings of a part of the graph, such as the body of `with torch.no_grad()`. The innermost part applies.
struct Settings {
  struct Autocast {
    bool is_enabled;
    std::optional<c10::ScalarType> dtype;
  };
  std::optional<bool> gradients = std::nullopt;
  std::optional<Autocast> autocast = std::nullopt;  // of the device of the inputs
};

struct Instruction {
  std::string name;          // of the node: `conv2d_1`
  std::string target;        // `torch.ops.aten.conv2d.default`
  std::string place;         // the line of Python that the node is from; empty if unknown
  std::string modules = {};  // in which the node is: `call,path,type;call,path,type`; empty if unknown
  std::optional<c10::OperatorHandle> op = std::nullopt;
  SymbolicFunction symbolic = nullptr;
  std::vector<Operand> operands = {};
  std::vector<Result> results = {};
  std::vector<Slot> released = {};  // slots that no later instruction reads
  Settings settings = {};
  bool uses_batch_statistics = false;  // see exported::uses_batch_statistics()

  // `conv2d_1 (torch.ops.aten.conv2d.default), net.py, line 12, in forward: x = self.conv(x)`
  std::string describe() const {
    return "node " + name + " (" + target + ")" + (place.empty() ? std::string() : ", " + place);
  }
};

struct ProgramInput {
  enum class Kind { weight, constant, user };
  Kind kind;
  size_t index;
  Slot slot;
};

struct ProgramOutput {
  enum class Kind { user, buffer };  // buffer: the new values of a weight
  Kind kind;
  size_t index;
  Slot slot;
};

// Instructions that backward may repeat instead of keeping what they computed. Between them and the others pass only
// `inputs` and `outputs`.
struct Segment {
  size_t begin, end;                 // instructions
  std::vector<ProgramInput> stored;  // the weights and constants that they read
  std::vector<Slot> inputs;          // tensors and numbers
  std::vector<Slot> outputs;         // tensors
  std::vector<size_t> numbers;       // instructions for numbers that others read: they run outside of the segment, too
};

struct Program {
  size_t slot_count = 0;
  std::vector<ProgramInput> inputs;
  std::vector<Instruction> instructions;
  std::vector<ProgramOutput> outputs;
  std::vector<Segment> segments = {};  // for training, in order
  std::vector<std::string> constant_names;
  std::vector<at::Tensor> constants;
};

}  // namespace exported
