#include "plugins/models/exported/compile.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "framework/formats/strings.h"

namespace exported {
namespace {

// A segment with more instructions than this share of the program is divided, if modules inside it repeat.
constexpr size_t kLargestShare = 10;
// Keeping the inputs of a smaller segment takes as much memory as what it computes.
constexpr size_t kSmallestSegment = 4;
// Modules that nest deeper are not divided: dividing a module calls itself for those inside.
constexpr size_t kMostNested = 100;

struct Module {
  std::string_view call;  // differs between two calls of a module: `L__self__layers.3`, `L__self__layers.3@1`
  std::string_view path;
  std::string_view type;
};

// The modules in which an instruction is, from the outermost: `call,path,type;call,path,type`.
std::vector<Module> read_modules(const Instruction& instruction) {
  std::vector<Module> modules;
  for (const std::string_view each : formats::split(instruction.modules, ';')) {
    const std::vector<std::string_view> parts = formats::split(each, ',');
    if (modules.size() == kMostNested) break;
    if (parts.size() == 3 && !parts[1].empty()) modules.push_back({parts[0], parts[1], parts[2]});
  }
  return modules;
}

bool is_numbered(std::string_view path) { return path.back() >= '0' && path.back() <= '9'; }

// The modules of each instruction that may be segments: numbered, of a type that occurs more than once, and not leaves.
std::vector<std::vector<Module>> find_repeated(const Program& program) {
  std::vector<std::vector<Module>> modules;
  std::set<std::string_view> outer;
  std::map<std::string_view, std::set<std::string_view>> paths;  // by type
  for (const Instruction& instruction : program.instructions) {
    modules.push_back(read_modules(instruction));
    for (size_t i = 0; i < modules.back().size(); ++i) {
      const Module& module = modules.back()[i];
      if (i + 1 < modules.back().size()) outer.insert(module.path);
      if (is_numbered(module.path)) paths[module.type].insert(module.path);
    }
  }
  for (std::vector<Module>& each : modules)
    std::erase_if(each, [&](const Module& module) {
      return !is_numbered(module.path) || !outer.contains(module.path) || paths[module.type].size() < 2;
    });
  return modules;
}

class Divider {
 public:
  explicit Divider(const Program& program) : modules_(find_repeated(program)) {}

  std::vector<std::pair<size_t, size_t>> divide() {
    divide(0, modules_.size(), 0);
    return std::move(ranges_);
  }

 private:
  // Adds the calls of the repeated modules at a depth of nesting, within a range of instructions.
  void divide(size_t begin, size_t end, size_t depth) {
    for (size_t first = begin; first < end;) {
      size_t last = first + 1;
      const Module* const module = at(first, depth);
      while (last < end && module && at(last, depth) && at(last, depth)->call == module->call) ++last;
      if (module) add(first, last, depth);
      first = last;
    }
  }

  void add(size_t first, size_t last, size_t depth) {
    const size_t before = ranges_.size();
    if ((last - first) * kLargestShare > modules_.size()) divide(first, last, depth + 1);
    if (ranges_.size() == before && last - first >= kSmallestSegment) ranges_.emplace_back(first, last);
  }

  const Module* at(size_t instruction, size_t depth) const {
    return depth < modules_[instruction].size() ? &modules_[instruction][depth] : nullptr;
  }

  std::vector<std::vector<Module>> modules_;
  std::vector<std::pair<size_t, size_t>> ranges_;
};

// What each slot is and where it is read and changed.
class Slots {
 public:
  static constexpr size_t kBefore = SIZE_MAX;  // a weight, a constant or an input

  explicit Slots(const Program& program)
      : program_(program),
        defined_(program.slot_count, kBefore),
        last_read_(program.slot_count, 0),
        last_written_(program.slot_count, 0),
        is_number_(program.slot_count, false),
        storage_(program.slot_count) {
    std::iota(storage_.begin(), storage_.end(), Slot{0});
    for (size_t i = 0; i < program.instructions.size(); ++i) add(i);
    for (const ProgramOutput& output : program.outputs) last_read_[output.slot] = program.instructions.size();
  }

  bool is_defined_in(Slot slot, size_t begin, size_t end) const {
    return defined_[slot] != kBefore && defined_[slot] >= begin && defined_[slot] < end;
  }
  size_t definition(Slot slot) const { return defined_[slot]; }
  bool is_read_from(Slot slot, size_t instruction) const { return last_read_[slot] >= instruction; }
  // Whether an instruction from this one on changes the tensor, also through a view.
  bool is_written_from(Slot slot, size_t instruction) const {
    const size_t written = last_written_[storage_[slot]];
    return written > 0 && written - 1 >= instruction;
  }
  bool is_number(Slot slot) const { return is_number_[slot]; }

 private:
  void add(size_t i) {
    const Instruction& instruction = program_.instructions[i];
    for (const Operand& operand : instruction.operands)
      visit_slots(operand, [&](Slot slot) { last_read_[slot] = std::max(last_read_[slot], i); });
    for (size_t k = 0; k < instruction.results.size(); ++k) {
      for (const std::optional<Slot>& slot : instruction.results[k].slots) {
        if (!slot) continue;
        defined_[*slot] = i;
        is_number_[*slot] = !instruction.op || !returns_tensors(instruction.op->schema().returns()[k].type());
      }
    }
    if (instruction.op) add_aliases(i, instruction);
  }

  static bool returns_tensors(const c10::TypePtr& type) {
    return type->kind() == c10::TypeKind::TensorType || type->kind() == c10::TypeKind::ListType ||
           type->kind() == c10::TypeKind::OptionalType;
  }

  // A result shares the storage of the first argument that it may alias. Results of arguments without an annotation,
  // such as reshape's, may share it too: they count as views of their first tensor.
  void add_aliases(size_t i, const Instruction& instruction) {
    const auto& arguments = instruction.op->schema().arguments();
    std::optional<Slot> shared;
    for (size_t k = 0; k < arguments.size(); ++k) {
      const Operand& operand = instruction.operands[k];
      if (operand.kind != Operand::Kind::slot || is_number_[operand.slot]) continue;
      const c10::AliasInfo* const alias = arguments[k].alias_info();
      if (alias && alias->isWrite()) last_written_[storage_[operand.slot]] = i + 1;
      if (!shared && (alias || may_return_view(instruction))) shared = storage_[operand.slot];
    }
    if (!shared) return;
    for (const Result& result : instruction.results)
      for (const std::optional<Slot>& slot : result.slots)
        if (slot) storage_[*slot] = *shared;
  }

  static bool may_return_view(const Instruction& instruction) {
    static const std::set<std::string_view> names = {"aten::reshape", "aten::contiguous", "aten::flatten",
                                                     "aten::to",      "aten::dropout",    "aten::feature_dropout",
                                                     "aten::type_as", "aten::expand_as",  "aten::lift_fresh_copy"};
    return names.contains(instruction.op->schema().name());
  }

  const Program& program_;
  std::vector<size_t> defined_, last_read_;
  std::vector<size_t> last_written_;  // 1 + the instruction, by storage
  std::vector<bool> is_number_;
  std::vector<Slot> storage_;  // the first slot with the same storage
};

// Makes the segment of a range of instructions.
class SegmentMaker {
 public:
  SegmentMaker(const Program& program, const Slots& slots, size_t begin, size_t end)
      : program_(program), slots_(slots), segment_{begin, end, {}, {}, {}, {}} {}

  // Returns nothing if backward could not repeat the instructions.
  std::optional<Segment> make() {
    if (!add_inputs() || !add_outputs()) return std::nullopt;
    return std::move(segment_);
  }

 private:
  bool is_within(Slot slot) const { return slots_.is_defined_in(slot, segment_.begin, segment_.end); }

  bool add_inputs() {
    std::set<Slot> read;
    for (size_t i = segment_.begin; i < segment_.end; ++i)
      for (const Operand& operand : program_.instructions[i].operands)
        visit_slots(operand, [&](Slot slot) {
          if (!is_within(slot)) read.insert(slot);
        });
    for (const ProgramInput& input : program_.inputs)
      if (input.kind != ProgramInput::Kind::user && read.erase(input.slot) > 0) segment_.stored.push_back(input);
    segment_.inputs.assign(read.begin(), read.end());
    return std::ranges::none_of(read, [&](Slot slot) { return slots_.is_written_from(slot, segment_.begin); });
  }

  bool add_outputs() {
    std::vector<Slot> numbers;
    for (size_t i = segment_.begin; i < segment_.end; ++i)
      for (const Result& result : program_.instructions[i].results)
        for (const std::optional<Slot>& slot : result.slots)
          if (slot && slots_.is_read_from(*slot, segment_.end))
            (slots_.is_number(*slot) ? numbers : segment_.outputs).push_back(*slot);
    return !segment_.outputs.empty() && add_numbers(std::move(numbers));
  }

  // Adds the instructions that compute numbers from what is known outside of the segment. Their order is that of the
  // program.
  bool add_numbers(std::vector<Slot> pending) {
    const std::set<Slot> outputs(segment_.outputs.begin(), segment_.outputs.end());
    std::set<size_t> instructions;
    bool is_known = true;
    while (!pending.empty() && is_known) {
      const size_t computed = slots_.definition(pending.back());
      pending.pop_back();
      if (!instructions.insert(computed).second) continue;
      for (const Operand& operand : program_.instructions[computed].operands)
        visit_slots(operand, [&](Slot read) {
          if (!is_within(read)) return;
          if (slots_.is_number(read)) {
            pending.push_back(read);
          } else {
            is_known = is_known && outputs.contains(read);
          }
        });
    }
    segment_.numbers.assign(instructions.begin(), instructions.end());
    return is_known;
  }

  const Program& program_;
  const Slots& slots_;
  Segment segment_;
};

}  // namespace

std::vector<Segment> find_segments(const Program& program) {
  const Slots slots(program);
  std::vector<Segment> segments;
  for (const auto& [begin, end] : Divider(program).divide())
    if (auto segment = SegmentMaker(program, slots, begin, end).make()) segments.push_back(std::move(*segment));
  return segments;
}

}  // namespace exported
