// Switches a graph between training and evaluation, for archives that have only one of the two.
#pragma once

#include <map>
#include <optional>

#include "plugins/models/exported/compile.h"
#include "plugins/models/exported/program.h"

namespace exported {

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

}  // namespace exported
