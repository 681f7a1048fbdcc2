#include "plugins/models/exported/compile.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "plugins/models/exported/schema.h"

namespace exported {
namespace {

// The major version of torch.export's schema, which changes when older readers would misread an archive.
constexpr int64_t kSchemaMajor = 8;

constexpr std::string_view kOperators = "torch.ops.aten.", kHigherOrder = "torch.ops.higher_order.";
constexpr std::string_view kUncounted = "num_batches_tracked";

// Metadata of a node; empty if it has none with this name.
std::string find_metadata(const Json& node, const char* name) {
  const auto metadata = node.find("metadata");
  if (metadata == node.end() || !metadata->is_object()) return {};
  const auto entry = metadata->find(name);
  return entry != metadata->end() && entry->is_string() ? entry->get<std::string>() : std::string();
}

// The line of Python outside of PyTorch that the node is from: `net.py, line 12, in forward: x = self.conv(x)`.
std::string find_place(const Json& node) {
  const std::string trace = find_metadata(node, "stack_trace");
  std::string place;
  for (size_t begin = trace.find("File \""); begin != std::string::npos;) {
    const size_t next = trace.find("File \"", begin + 1);
    std::string frame = trace.substr(begin, next == std::string::npos ? next : next - begin);
    const bool is_of_pytorch = frame.find("/torch/") != std::string::npos || frame.starts_with("File \"torch/");
    if (place.empty() || !is_of_pytorch) place = std::move(frame);
    begin = next;
  }
  const size_t line_end = place.find('\n');
  if (line_end == std::string::npos) return place;
  const size_t code = place.find_first_not_of(" \n", line_end);
  const size_t code_end = code == std::string::npos ? code : place.find('\n', code);
  return place.substr(0, line_end) + (code == std::string::npos ? "" : ": " + place.substr(code, code_end - code));
}

// The operator of a target such as torch.ops.aten.add.Tensor.
c10::OperatorHandle find_operator(const std::string& target) {
  if (!target.starts_with(kOperators))
    throw std::invalid_argument(
        "this target is not supported; expected an ATen operator, such as torch.ops.aten.add.Tensor, "
        "or arithmetic on sizes");
  const size_t dot = target.rfind('.');
  const std::string overload = target.substr(dot + 1);
  const std::string name =
      dot <= kOperators.size() ? std::string() : target.substr(kOperators.size(), dot - kOperators.size());
  // It would read any file of the machine.
  if (name == "from_file") throw std::invalid_argument("reads a file; an exported model cannot");
  const auto found = c10::Dispatcher::singleton().findSchema({"aten::" + name, overload == "default" ? "" : overload});
  if (!found) throw std::invalid_argument("this LibTorch has no such operator");
  return *found;
}

class Compiler {
 public:
  Compiler(const Weights& weights, const StoredTensors& constants, Mode mode)
      : weights_(weights), constants_(constants), mode_(mode) {}

  Program compile(const Json& model) {
    const Json& module = field(model, "graph_module");
    const Json& graph = field(module, "graph");
    const Json& signature = field(module, "signature");
    Names names;
    for (const Json& spec : elements(field(signature, "input_specs"))) add_input(spec, names);
    add_nodes(field(graph, "nodes"), names, {});
    for (const Json& spec : elements(field(signature, "output_specs"))) add_output(spec, names);
    release_slots();
    return std::move(program_);
  }

 private:
  using InputKind = ProgramInput::Kind;

  Slot add_name(Names& names, const std::string& name) {
    bind(names, name, program_.slot_count);
    return program_.slot_count++;
  }

  static const std::string& name_of(const Json& spec) { return text(field(field(spec, "arg"), "name")); }

  void add_input(const Json& each, Names& names) {
    const Tagged spec = tagged(each);
    if (spec.tag == "parameter") {
      add_weight(text(field(spec.value, "parameter_name")), add_name(names, name_of(spec.value)));
    } else if (spec.tag == "buffer") {
      const std::string& name = text(field(spec.value, "buffer_name"));
      const Slot slot = add_name(names, name_of(spec.value));
      weights_.index.contains(name) ? add_weight(name, slot) : add_constant(name, slot);
    } else if (spec.tag == "tensor_constant") {
      add_constant(text(field(spec.value, "tensor_constant_name")), add_name(names, name_of(spec.value)));
    } else if (spec.tag == "user_input") {
      const Tagged argument = tagged(field(spec.value, "arg"));
      if (argument.tag == "as_none") return;
      if (argument.tag != "as_tensor")
        throw std::invalid_argument("the input " + shorten(argument.value) + " is not a tensor; expected tensors");
      program_.inputs.push_back(
          {InputKind::user, user_inputs_++, add_name(names, text(field(argument.value, "name")))});
    } else if (spec.tag != "constant_input") {
      throw std::invalid_argument("an input is of the kind " + shorten(Json(spec.tag)) +
                                  ", which is not supported; expected parameters, buffers, constants and tensors");
    }
  }

  void add_weight(const std::string& name, Slot slot) {
    const auto found = weights_.index.find(name);
    if (found == weights_.index.end()) throw std::invalid_argument("the archive has no tensor " + shorten(Json(name)));
    program_.inputs.push_back({InputKind::weight, found->second, slot});
    views_.emplace(slot, slot);
  }

  void add_constant(const std::string& name, Slot slot) {
    const auto found = constants_.find(name);
    if (found == constants_.end()) throw std::invalid_argument("the archive has no constant " + shorten(Json(name)));
    program_.inputs.push_back({InputKind::constant, program_.constants.size(), slot});
    program_.constant_names.push_back(name);
    program_.constants.push_back(found->second.tensor);
  }

  void add_nodes(const Json& nodes, Names& names, const Settings& settings) {
    for (const Json& node : elements(nodes)) {
      Instruction instruction;
      instruction.target = text(field(node, "target"));
      const auto name = node.find("name");
      if (name != node.end() && name->is_string()) instruction.name = name->get<std::string>();
      instruction.place = find_place(node);
      instruction.modules = find_metadata(node, "nn_module_stack");
      instruction.settings = settings;
      const std::string described = instruction.describe();
      try {
        add_node(node, std::move(instruction), names);
      } catch (const NodeError&) {
        throw;
      } catch (const std::invalid_argument& error) {
        throw NodeError(described + ": " + error.what());
      }
    }
  }

  // The message names a node already.
  struct NodeError : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
  };

  void add_node(const Json& node, Instruction instruction, Names& names) {
    if (instruction.target.starts_with(kHigherOrder)) return add_region(node, instruction, names);
    // It compares a tensor with the dtype and device of the export, which autocast and the run file change.
    if (instruction.target.starts_with("torch.ops.aten._assert_tensor_metadata.")) return;
    const Json& inputs = elements(field(node, "inputs"));
    instruction.symbolic = find_symbolic(instruction.target);
    if (instruction.symbolic) {
      for (const Json& input : inputs) instruction.operands.push_back(make_number(field(input, "arg"), names));
    } else {
      instruction.op = find_operator(instruction.target);
      read_arguments(inputs, instruction, names);
    }
    switch_mode(instruction, mode_);
    instruction.uses_batch_statistics = uses_batch_statistics(instruction);
    if (mode_ == Mode::evaluation && drop_update(node, instruction, names)) return;
    for (const Json& output : elements(field(node, "outputs")))
      instruction.results.push_back(add_result(output, names));
    check_result_count(instruction);
    add_views(instruction, views_);
    program_.instructions.push_back(std::move(instruction));
  }

  // Arguments have the names of the operator's schema. Those that are missing have its defaults.
  static void read_arguments(const Json& inputs, Instruction& instruction, const Names& names) {
    std::map<std::string, const Json*> given;
    for (const Json& input : inputs) {
      const std::string& name = text(field(input, "name"));
      if (!given.emplace(name, &field(input, "arg")).second)
        throw std::invalid_argument("has two arguments " + shorten(Json(name)));
    }
    for (const c10::Argument& argument : instruction.op->schema().arguments()) {
      const auto found = given.find(argument.name());
      try {
        if (found != given.end()) {
          instruction.operands.push_back(make_operand(*found->second, argument.type(), argument.N(), names));
          given.erase(found);
        } else if (argument.default_value()) {
          instruction.operands.push_back({Operand::Kind::constant, *argument.default_value()});
        } else {
          throw std::invalid_argument("is missing");
        }
      } catch (const std::invalid_argument& error) {
        throw std::invalid_argument("argument " + argument.name() + ": " + error.what());
      }
    }
    if (!given.empty())
      throw std::invalid_argument("has the argument " + shorten(Json(given.begin()->first)) +
                                  ", which the operator does not have");
  }

  Result add_result(const Json& output, Names& names) {
    const Tagged result = tagged(output);
    const auto slot = [&](const Json& value, const char* key) -> std::optional<Slot> {
      return add_name(names, text(field(value, key)));
    };
    if (result.tag == "as_tensor") return {false, {slot(result.value, "name")}};
    if (result.tag == "as_none") return {false, {std::nullopt}};
    if (result.tag == "as_optional_tensor") {
      const Tagged tensor = tagged(result.value);
      return {false, {tensor.tag == "as_none" ? std::nullopt : slot(tensor.value, "name")}};
    }
    if (is_symbolic(result.tag))
      return {false, {tagged(result.value).tag == "as_name" ? slot(result.value, "as_name") : std::nullopt}};
    if (result.tag == "as_tensors") {
      Result list = {true, {}};
      for (const Json& each : elements(result.value)) list.slots.push_back(slot(each, "name"));
      return list;
    }
    throw std::invalid_argument("returns " + shorten(output) + "; expected tensors or numbers");
  }

  static void check_result_count(const Instruction& instruction) {
    const size_t expected = instruction.symbolic ? 1 : instruction.op->schema().returns().size();
    if (instruction.results.size() != expected)
      throw std::invalid_argument("has " + std::to_string(instruction.results.size()) + " results; expected " +
                                  std::to_string(expected));
  }

  // In evaluation, a training graph must not change its buffers. The counter of batch norm stays as it is; its running
  // statistics follow the flag. Returns whether the instruction is left out.
  bool drop_update(const Json& node, const Instruction& instruction, Names& names) {
    const std::optional<Slot> written = find_written_weight(instruction, views_);
    if (!written) return false;
    refuse_update(weight_of(*written));
    for (const Json& output : elements(field(node, "outputs"))) {
      const Tagged result = tagged(output);
      if (result.tag == "as_tensor" && !names.emplace(text(field(result.value, "name")), *written).second)
        throw std::invalid_argument("two values are called " + shorten(result.value));
    }
    return true;
  }

  static void refuse_update(const std::string& name) {
    if (!name.ends_with(kUncounted))
      throw std::invalid_argument("changes " + name +
                                  " in training, and cannot be switched to evaluation; export a graph "
                                  "for each, as scripts/export_model.py does");
  }

  const std::string& weight_of(Slot slot) const {
    const auto found = std::ranges::find(program_.inputs, slot, &ProgramInput::slot);
    return weights_.names.at(found->index);
  }

  // with torch.no_grad(), and with torch.autocast(...): their nodes become part of the program, with other settings.
  void add_region(const Json& node, const Instruction& instruction, Names& names) {
    std::vector<const Json*> arguments;
    for (const Json& input : elements(field(node, "inputs"))) arguments.push_back(&field(input, "arg"));
    const auto argument = [&](size_t i, const std::string& tag) -> const Json& {
      const Tagged found = tagged(*arguments[i]);
      if (found.tag != tag) throw std::invalid_argument("found " + shorten(*arguments[i]) + "; expected " + tag);
      return found.value;
    };
    Settings settings = instruction.settings;
    size_t first = 0;  // the argument after the graph
    if (instruction.target == "torch.ops.higher_order.wrap_with_set_grad_enabled" && arguments.size() >= 2) {
      settings.gradients = boolean(argument(0, "as_bool"));
      first = 2;
    } else if (instruction.target == "torch.ops.higher_order.wrap_with_autocast" && arguments.size() >= 5) {
      const Tagged dtype = tagged(*arguments[1]);
      settings.autocast = {boolean(argument(2, "as_bool")),
                           dtype.tag == "as_none"
                               ? std::nullopt
                               : std::optional(to_scalar_type(integer(argument(1, "as_scalar_type"))))};
      first = 5;
    } else {
      throw std::invalid_argument(
          "this target is not supported; expected ATen operators, torch.no_grad and torch.autocast");
    }
    const Json& graph = field(argument(first - 1, "as_graph"), "graph");
    const size_t count = arguments.size() - first;
    const Json& expected = elements(field(graph, "inputs"));
    if (count != expected.size())
      throw std::invalid_argument("passes " + std::to_string(count) + " arguments to a graph with " +
                                  std::to_string(expected.size()) + " inputs");
    Names inner;
    for (size_t i = 0; i < count; ++i)
      bind(inner, name_value(expected[i]), find_slot(names, name_value(*arguments[first + i])));
    add_nodes(field(graph, "nodes"), inner, settings);
    bind_results(elements(field(graph, "outputs")), elements(field(node, "outputs")), inner, names);
  }

  static void bind(Names& names, const std::string& name, Slot slot) {
    if (!names.emplace(name, slot).second) throw std::invalid_argument("two values are called " + shorten(Json(name)));
  }

  static const std::string& name_value(const Json& argument) {
    const Tagged value = tagged(argument);
    if (value.tag == "as_tensor") return text(field(value.value, "name"));
    if (is_symbolic(value.tag)) return text(field(value.value, "as_name"));
    throw std::invalid_argument("found " + shorten(argument) + "; expected a tensor or a symbolic number");
  }

  static void bind_results(const Json& inner_outputs, const Json& outputs, const Names& inner, Names& names) {
    std::vector<std::string> results;
    for (const Json& output : outputs) {
      const Tagged result = tagged(output);
      if (result.tag == "as_tensors") {
        for (const Json& each : elements(result.value)) results.push_back(text(field(each, "name")));
      } else {
        results.push_back(result.tag == "as_none" ? std::string() : name_value(output));
      }
    }
    if (results.size() != inner_outputs.size())
      throw std::invalid_argument("has " + std::to_string(results.size()) + " results of a graph with " +
                                  std::to_string(inner_outputs.size()) + " outputs");
    for (size_t i = 0; i < results.size(); ++i)
      if (!results[i].empty()) bind(names, results[i], find_slot(inner, name_value(inner_outputs[i])));
  }

  void add_output(const Json& each, const Names& names) {
    const Tagged spec = tagged(each);
    if (spec.tag == "user_output" || spec.tag == "loss_output") {
      const Json& argument = field(spec.value, "arg");
      const bool is_loss = spec.tag == "loss_output";
      if (!is_loss && tagged(argument).tag != "as_tensor") {
        ++user_outputs_;
        return;
      }
      const std::string& name = text(field(is_loss ? argument : tagged(argument).value, "name"));
      program_.outputs.push_back({ProgramOutput::Kind::user, user_outputs_++, find_slot(names, name)});
    } else if (spec.tag == "buffer_mutation") {
      const std::string& buffer = text(field(spec.value, "buffer_name"));
      const auto found = weights_.index.find(buffer);
      if (found == weights_.index.end())
        throw std::invalid_argument("changes the buffer " + shorten(Json(buffer)) +
                                    ", which is not part of state_dict(); register it with persistent=True");
      if (mode_ == Mode::evaluation) return refuse_update(buffer);
      program_.outputs.push_back({ProgramOutput::Kind::buffer, found->second, find_slot(names, name_of(spec.value))});
    } else {
      throw std::invalid_argument("an output is of the kind " + shorten(Json(spec.tag)) +
                                  ", which is not supported; expected tensors and changed buffers");
    }
  }

  // Marks for each slot the last instruction that reads it, and removes results that nothing reads.
  void release_slots() {
    std::vector<size_t> last(program_.slot_count, kNever);
    for (size_t i = 0; i < program_.instructions.size(); ++i)
      for (const Operand& operand : program_.instructions[i].operands)
        visit_slots(operand, [&](Slot slot) { last[slot] = i; });
    for (const ProgramOutput& output : program_.outputs) last[output.slot] = kToEnd;
    for (Slot slot = 0; slot < last.size(); ++slot)
      if (last[slot] < program_.instructions.size()) program_.instructions[last[slot]].released.push_back(slot);
    for (Instruction& instruction : program_.instructions)
      for (Result& result : instruction.results)
        for (std::optional<Slot>& slot : result.slots)
          if (slot && last[*slot] == kNever) slot.reset();
  }

  static constexpr size_t kNever = SIZE_MAX, kToEnd = SIZE_MAX - 1;

  const Weights& weights_;
  const StoredTensors& constants_;
  const Mode mode_;
  Program program_;
  WeightViews views_;
  size_t user_inputs_ = 0, user_outputs_ = 0;
};

}  // namespace

void check_version(const Json& model) {
  const int64_t major = integer(field(field(model, "schema_version"), "major"));
  if (major == kSchemaMajor) return;
  throw std::invalid_argument("the version of the schema is " + std::to_string(major) + "; expected " +
                              std::to_string(kSchemaMajor) + ", which PyTorch 2.11 writes: export the model again");
}

Program compile(const Json& model, const Weights& weights, const StoredTensors& constants, Mode mode) {
  return Compiler(weights, constants, mode).compile(model);
}

}  // namespace exported
