#include "plugins/models/exported/compile.h"

#include <ATen/core/enum_tag.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string_view>

namespace exported {
namespace {

const std::vector<c10::Argument>& arguments_of(const Instruction& instruction) {
  return instruction.op->schema().arguments();
}

// The index of the first operand with one of these names that is a constant for which `is_type` holds.
template <class IsType>
std::optional<size_t> find_constant(const Instruction& instruction, std::initializer_list<std::string_view> names,
                                    IsType is_type) {
  const auto& arguments = arguments_of(instruction);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Operand& operand = instruction.operands[i];
    const bool is_named = std::ranges::find(names, arguments[i].name()) != names.end();
    if (is_named && operand.kind == Operand::Kind::constant && is_type(operand.constant)) return i;
  }
  return std::nullopt;
}

// The operand that says whether the model is in training. Batch norm without running statistics normalises with those
// of the batch in evaluation, too.
std::optional<size_t> find_flag(const Instruction& instruction) {
  if (!instruction.op) return std::nullopt;
  if (find_constant(instruction, {"running_mean"}, [](const c10::IValue& value) { return value.isNone(); }))
    return std::nullopt;
  return find_constant(instruction, {"train", "training"}, [](const c10::IValue& value) { return value.isBool(); });
}

}  // namespace

Mode find_mode(const Program& program) {
  bool has_training = false, has_evaluation = false;
  for (const Instruction& instruction : program.instructions) {
    if (const auto flag = find_flag(instruction))
      (instruction.operands[*flag].constant.toBool() ? has_training : has_evaluation) = true;
    if (has_training && has_evaluation)
      throw std::invalid_argument(
          instruction.describe() +
          ": is in another mode than the nodes before it, so the graph cannot be switched between "
          "training and evaluation; export a graph for each, as scripts/export_model.py does");
  }
  return has_evaluation ? Mode::evaluation : Mode::training;
}

void switch_mode(Instruction& instruction, Mode mode) {
  if (!instruction.op || mode == Mode::as_exported) return;
  if (const auto flag = find_flag(instruction)) {
    instruction.operands[*flag].constant = mode == Mode::training;
    return;
  }
  if (mode == Mode::training) return;
  const auto probability =
      find_constant(instruction, {"dropout_p"}, [](const c10::IValue& value) { return value.isDouble(); });
  if (probability) {
    instruction.operands[*probability].constant = 0.0;
  } else if (instruction.op->hasTag(at::Tag::nondeterministic_seeded)) {
    throw std::invalid_argument(
        "draws random numbers in training, and cannot be switched to evaluation; export a graph for each, as "
        "scripts/export_model.py does");
  }
}

bool uses_batch_statistics(const Instruction& instruction) {
  if (!instruction.op) return false;
  const std::string& name = instruction.op->schema().name();
  if (name == "aten::batch_norm" || name.find("batch_norm") == name.npos || name.find("backward") != name.npos)
    return false;
  if (name.find("batch_norm_with_update") != name.npos) return true;
  const auto flag =
      find_constant(instruction, {"train", "training"}, [](const c10::IValue& value) { return value.isBool(); });
  return flag && instruction.operands[*flag].constant.toBool();
}

void add_views(const Instruction& instruction, WeightViews& views) {
  if (!instruction.op) return;
  const auto& arguments = arguments_of(instruction);
  const auto& returns = instruction.op->schema().returns();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Operand& operand = instruction.operands[i];
    if (!arguments[i].alias_info() || operand.kind != Operand::Kind::slot || !views.contains(operand.slot)) continue;
    const Slot weight = views.at(operand.slot);
    for (size_t k = 0; k < returns.size(); ++k) {
      if (!returns[k].alias_info()) continue;
      for (const std::optional<Slot>& slot : instruction.results[k].slots)
        if (slot) views.emplace(*slot, weight);
    }
  }
}

std::optional<Slot> find_written_weight(const Instruction& instruction, const WeightViews& views) {
  if (!instruction.op) return std::nullopt;
  const auto& arguments = arguments_of(instruction);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::AliasInfo* const alias = arguments[i].alias_info();
    const Operand& operand = instruction.operands[i];
    if (!alias || !alias->isWrite() || operand.kind != Operand::Kind::slot) continue;
    const auto found = views.find(operand.slot);
    if (found != views.end()) return found->second;
  }
  return std::nullopt;
}

}  // namespace exported
