// Opens arbitrary bytes as a .pt2 archive, and compiles its graphs as the model `exported` does. A wrong archive is
// refused with tenon::DataError or std::invalid_argument, and the instructions of an accepted one read only what an
// earlier instruction has computed. Nothing runs: the sizes of intermediate results are those of the graph.
//
// An input that begins with "PK" is the archive. Another one is text, which a mutator changes better than a zip: each
// line has the name of a record, a space and the record. A number stands for as many zero bytes, for tensors:
//   data/weights/weight_0 144
//   models/train.json {"schema_version":{"major":8,"minor":17},"graph_module":{...}}
#include <caffe2/serialize/inline_container.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <tenon/error.hpp>

#include "plugins/models/exported/archive.h"
#include "plugins/models/exported/compile.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace exported;
using tenon::fuzz::MemoryFile;
using tenon::fuzz::require;

constexpr uint64_t kMostZeros = 1 << 16;

std::string to_record(std::string_view text) {
  uint64_t zeros = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), zeros);
  if (error == std::errc() && end == text.data() + text.size()) return std::string(std::min(zeros, kMostZeros), '\0');
  return std::string(text);
}

std::map<std::string, std::string> list_records(std::string_view input) {
  std::map<std::string, std::string> records = {
      {"archive_format", "pt2"}, {"archive_version", "0"}, {"byteorder", "little"}};
  for (const std::string model : {"model", "train", "eval"}) {
    records["data/weights/" + model + "_weights_config.json"] = R"({"config":{}})";
    records["data/constants/" + model + "_constants_config.json"] = R"({"config":{}})";
  }
  while (!input.empty()) {
    const std::string_view line = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(line.size() + 1, input.size()));
    const size_t space = line.find(' ');
    if (space != std::string_view::npos)
      records[std::string(line.substr(0, space))] = to_record(line.substr(space + 1));
  }
  return records;
}

// Returns an archive with the records of the input; empty if no archive can have such names.
std::string make_archive(std::string_view input) {
  std::string bytes;
  try {
    caffe2::serialize::PyTorchStreamWriter writer([&](const void* data, size_t size) {
      bytes.append(static_cast<const char*>(data), size);
      return size;
    });
    for (const auto& [name, record] : list_records(input))
      if (!name.starts_with(".data/")) writer.writeRecord(name, record.data(), record.size());
    writer.writeEndOfFile();
  } catch (const c10::Error&) {
    return {};
  }
  return bytes;
}

// Checks that a program only reads slots that have a value by then.
class ProgramCheck {
 public:
  explicit ProgramCheck(const Program& program) : program_(program), has_value_(program.slot_count, false) {}

  void check(size_t weight_count) {
    for (const ProgramInput& input : program_.inputs) {
      if (input.kind == ProgramInput::Kind::weight) require(input.index < weight_count);
      if (input.kind == ProgramInput::Kind::constant) require(input.index < program_.constants.size());
      has_value_.at(input.slot) = true;
    }
    for (const Instruction& instruction : program_.instructions) check(instruction);
    for (const ProgramOutput& output : program_.outputs) {
      if (output.kind == ProgramOutput::Kind::buffer) require(output.index < weight_count);
      require(has_value_.at(output.slot));
    }
    size_t end = 0;
    for (const Segment& segment : program_.segments) {
      require(segment.begin >= end && segment.begin < segment.end && segment.end <= program_.instructions.size());
      end = segment.end;
      for (const size_t number : segment.numbers) require(number >= segment.begin && number < segment.end);
    }
  }

 private:
  void check(const Instruction& instruction) {
    require(instruction.op.has_value() != (instruction.symbolic != nullptr));
    for (const Operand& operand : instruction.operands) check(operand);
    if (instruction.op) {
      require(instruction.operands.size() == instruction.op->schema().arguments().size());
      require(instruction.results.size() == instruction.op->schema().returns().size());
    }
    for (const Slot slot : instruction.released) {
      require(has_value_.at(slot));
      has_value_[slot] = false;
    }
    for (const Result& result : instruction.results) {
      require(result.is_list || result.slots.size() == 1);
      for (const std::optional<Slot>& slot : result.slots)
        if (slot) has_value_.at(*slot) = true;
    }
  }

  void check(const Operand& operand) const {
    const bool reads = operand.kind == Operand::Kind::slot || operand.kind == Operand::Kind::slot_as_float ||
                       operand.kind == Operand::Kind::slot_as_tensor;
    if (reads) require(has_value_.at(operand.slot));
    for (const Operand& item : operand.items) check(item);
  }

  const Program& program_;
  std::vector<bool> has_value_;
};

Weights list_weights(const StoredTensors& stored) {
  Weights weights;
  std::map<std::string, size_t> first;  // by the record
  for (const auto& [name, tensor] : stored) {
    require(tensor.tensor.defined() && tensor.tensor.device().is_cpu());
    const auto [found, is_new] = first.emplace(tensor.record, weights.names.size());
    if (is_new) weights.names.push_back(name);
    weights.index.emplace(name, found->second);
  }
  return weights;
}

Program compile_checked(const Json& graph, const Weights& weights, const StoredTensors& constants, Mode mode) {
  Program program = compile(graph, weights, constants, mode);
  program.segments = find_segments(program);
  ProgramCheck(program).check(weights.names.size());
  return program;
}

void open(const std::string& path) {
  Archive archive(path);
  if (archive.models().empty() || archive.models().size() > 2) return;
  const std::string& first = archive.models().back();
  const Weights weights =
      list_weights(read_tensors(archive, "data/weights/" + first + "_weights_config.json", "data/weights/"));
  std::vector<std::vector<tenon::Port>> ports;
  for (const std::string& model : archive.models()) {
    const Json graph = archive.read_json("models/" + model + ".json");
    check_version(graph);
    const StoredTensors constants =
        read_tensors(archive, "data/constants/" + model + "_constants_config.json", "data/constants/");
    ports.push_back(read_ports(graph, {}));
    const Program program = compile_checked(graph, weights, constants, Mode::as_exported);
    if (archive.models().size() == 2) continue;
    const bool is_training = find_mode(program) == Mode::training;
    compile_checked(graph, weights, constants, is_training ? Mode::evaluation : Mode::training);
  }
  if (ports.size() == 2) check_same_ports(ports[0], ports[1]);
}

}  // namespace

TENON_FUZZ_TARGET(exported) {
  const std::string_view text = tenon::fuzz::as_text(input);
  const std::string archive = text.starts_with("PK") ? std::string(text) : make_archive(text);
  if (archive.empty()) return;
  const MemoryFile file(archive);
  try {
    open(file.path());
  } catch (const tenon::DataError&) {
  } catch (const std::invalid_argument&) {
  }
}
