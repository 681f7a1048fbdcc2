// Whether a graph works in another memory format than that of its export.
#include <algorithm>
#include <array>
#include <string_view>

#include "plugins/models/exported/compile.h"

namespace exported {
namespace {

std::string_view operator_of(const Instruction& instruction) {
  return instruction.op ? std::string_view(instruction.op->operator_name().name) : std::string_view();
}

template <size_t kCount>
bool is_one_of(std::string_view name, const std::array<std::string_view, kCount>& names) {
  return std::ranges::find(names, name) != names.end();
}

constexpr std::array<std::string_view, 5> kConvolutions = {
    "aten::conv2d", "aten::convolution", "aten::conv_transpose2d", "aten::_convolution", "aten::cudnn_convolution"};

// Their result has other values, or there is none, if the strides of the argument are others.
constexpr std::array<std::string_view, 9> kReadingStrides = {
    "aten::view",      "aten::_unsafe_view", "aten::view_as",         "aten::as_strided", "aten::as_strided_",
    "aten::unflatten", "aten::view_as_real", "aten::view_as_complex", "aten::sym_stride"};

// Their results are contiguous for arguments of any strides.
constexpr std::array<std::string_view, 9> kContiguousResults = {"aten::linear",
                                                                "aten::addmm",
                                                                "aten::mm",
                                                                "aten::bmm",
                                                                "aten::matmul",
                                                                "aten::layer_norm",
                                                                "aten::native_layer_norm",
                                                                "aten::embedding",
                                                                "aten::contiguous"};

std::vector<int64_t> constant_integers(const Operand& operand) {
  std::vector<int64_t> numbers;
  if (operand.kind == Operand::Kind::constant && operand.constant.isIntList())
    for (const int64_t number : operand.constant.toIntList()) numbers.push_back(number);
  for (const Operand& item : operand.items)
    if (item.kind == Operand::Kind::constant && item.constant.isInt()) numbers.push_back(item.constant.toInt());
  return numbers;
}

// One value for each channel has the same place in both formats.
bool pools_to_one_value(const Instruction& instruction, std::string_view name) {
  return name == "aten::adaptive_avg_pool2d" && instruction.operands.size() == 2 &&
         constant_integers(instruction.operands[1]) == std::vector<int64_t>{1, 1};
}

// flatten(x, 1) of an image copies it, unless its places are the same in both formats.
bool flattens_samples(const Instruction& instruction, std::string_view name) {
  const auto is_number = [&](size_t index, int64_t number) {
    const Operand& operand = instruction.operands[index];
    return operand.kind == Operand::Kind::constant && operand.constant.isInt() && operand.constant.toInt() == number;
  };
  return name == "aten::flatten" && instruction.operands.size() == 3 && is_number(1, 1) && is_number(2, -1);
}

}  // namespace

bool needs_contiguous(const Program& program, const std::vector<bool>& weights_are_images,
                      const std::vector<bool>& inputs_are_images) {
  std::vector<bool> depends(program.slot_count, false);  // whether the strides of a value depend on the format
  for (const ProgramInput& input : program.inputs) {
    if (input.kind == ProgramInput::Kind::weight) depends[input.slot] = weights_are_images.at(input.index);
    if (input.kind == ProgramInput::Kind::user) depends[input.slot] = inputs_are_images.at(input.index);
  }
  bool has_convolution = false;
  for (const Instruction& instruction : program.instructions) {
    const std::string_view name = operator_of(instruction);
    has_convolution = has_convolution || is_one_of(name, kConvolutions);
    bool reads_dependent = false;
    for (const Operand& operand : instruction.operands)
      visit_slots(operand, [&](Slot slot) { reads_dependent = reads_dependent || depends[slot]; });
    if (!reads_dependent) continue;
    if (is_one_of(name, kReadingStrides)) return true;
    if (instruction.symbolic || name == "aten::sym_size") continue;  // numbers
    if (is_one_of(name, kContiguousResults) || pools_to_one_value(instruction, name) ||
        flattens_samples(instruction, name))
      continue;
    for (const Result& result : instruction.results)
      for (const std::optional<Slot>& slot : result.slots)
        if (slot) depends[*slot] = true;
  }
  return !has_convolution;
}

}  // namespace exported
