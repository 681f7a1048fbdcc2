// Turns a graph of the archive, models/NAME.json, into a program.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/jit_type.h>
#include <tenon/port.hpp>

#include "plugins/models/exported/archive.h"
#include "plugins/models/exported/program.h"
#include "plugins/models/exported/schema.h"

namespace exported {

// Whether the flags of dropout and batch norm stay as they were exported, or are switched.
enum class Mode { as_exported, training, evaluation };

// What a program is compiled against. `weights` has the index of each parameter and buffer in the frame, by its name in
// state_dict(); tied names have the same index.
struct Weights {
  std::map<std::string, size_t> index;
  std::vector<std::string> names;  // by index
};

// Throws std::invalid_argument for another version than this reader's.
void check_version(const Json& model);

// Throws std::invalid_argument that names the node, its line of Python, and what was expected.
Program compile(const Json& model, const Weights& weights, const StoredTensors& constants, Mode mode);

// The next functions switch a graph between training and evaluation, for archives that have only one of the two.

// The mode in which a graph was exported, by its flags of dropout and batch norm. A graph without such flags counts as
// training. Throws std::invalid_argument if the flags differ.
Mode find_mode(const Program& program);

// Switches the flags of an instruction. Throws std::invalid_argument if the instruction behaves differently in
// evaluation but has no flag, such as a random draw outside of dropout.
void switch_mode(Instruction& instruction, Mode mode);

// Whether the instruction is a batch norm that normalises with the statistics of its batch. Not for aten::batch_norm:
// the host checks its batches.
bool uses_batch_statistics(const Instruction& instruction);

// For the slots of weights and of their views: the slot of the weight.
using WeightViews = std::map<Slot, Slot>;

// Adds the results of an instruction that are views of a weight.
void add_views(const Instruction& instruction, WeightViews& views);

// The slot of a weight that the instruction changes in place, itself or through a view.
std::optional<Slot> find_written_weight(const Instruction& instruction, const WeightViews& views);

// The values that are computed so far, by the names of the graph.
using Names = std::map<std::string, Slot>;

// Throws std::invalid_argument if no earlier node computes the value.
Slot find_slot(const Names& names, const std::string& name);

// Converts an argument to the type in the schema of the operator. `length` is that of a list such as int[2], for which
// Python accepts a number. Throws std::invalid_argument that shows what was found and what was expected.
Operand make_operand(const Json& argument, const c10::TypePtr& type, std::optional<int32_t> length, const Names& names);

// Converts an argument of a symbolic function.
Operand make_number(const Json& argument, const Names& names);

// Returns the function of a target such as `_operator.floordiv` or `torch.sym_max`, or null: Python's arithmetic on
// sizes, which torch.export calls symbolic integers. It throws std::invalid_argument for operands that the function is
// not defined for, and for results that exceed 64 bits.
SymbolicFunction find_symbolic(const std::string& target);

// The ports of an exported model, from the names and shapes in its graph. `output_names` replaces the names of the
// outputs; empty: those of the dictionary that forward returns, or `output`. Throws std::invalid_argument.
std::vector<tenon::Port> read_ports(const Json& model, const std::vector<std::string>& output_names);

// Throws std::invalid_argument unless the graphs have the same inputs, and as many outputs.
void check_same_ports(const std::vector<tenon::Port>& training, const std::vector<tenon::Port>& evaluation);

// Whether the program depends on the strides of images and weights, or has no 2-d convolution: see
// tenon/draft/memory_format.h. The lists say which weights and inputs have four dimensions. What does not follow from
// the operators, such as that a view is possible for the sizes of a graph, counts as dependent.
bool needs_contiguous(const Program& program, const std::vector<bool>& weights_are_images,
                      const std::vector<bool>& inputs_are_images);

// Returns the segments of a training program, in order: the parts between which activation checkpointing keeps tensors.
// A segment is one call of a module that the model repeats, such
// as `layers.3`: other modules have the same type and a name that differs in its number. Where such modules contain
// each other, it is the outermost one, unless it has more than a tenth of all instructions. A call is left out if its
// inputs change in place, so that backward could not repeat it, or if others read a number that only it can compute.
std::vector<Segment> find_segments(const Program& program);

}  // namespace exported
