// The segments of activation checkpointing in the reference archives.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "plugins/models/exported/archive.h"
#include "plugins/models/exported/compile.h"
#include "tests/doctest_with_torch.h"
#include "tests/exported/archives.h"

using namespace exported;
using tenon::exported::read_records;
using tenon::exported::Records;
using tenon::exported::write_records;

namespace {

std::filesystem::path path_of(const std::string& name) {
  return tenon::exported::archive_folder().parent_path() / "exported_architectures" / (name + ".pt2");
}

Program compile_training(const std::filesystem::path& path) {
  Archive archive(path.string());
  Weights weights;
  for (const auto& [name, tensor] : read_tensors(archive, "data/weights/train_weights_config.json", "data/weights/")) {
    weights.index.emplace(name, weights.names.size());
    weights.names.push_back(name);
  }
  const StoredTensors constants =
      read_tensors(archive, "data/constants/train_constants_config.json", "data/constants/");
  return compile(archive.read_json("models/train.json"), weights, constants, Mode::as_exported);
}

// The innermost module that contains all instructions of a segment.
std::string module_of(const Program& program, const Segment& segment) {
  std::string common = program.instructions[segment.begin].modules;
  for (size_t i = segment.begin; i < segment.end; ++i) {
    const std::string& modules = program.instructions[i].modules;
    const auto [end, other] = std::ranges::mismatch(common, modules);
    const bool is_whole = end == common.end() && (other == modules.end() || *other == ';');
    if (!is_whole) common.resize(common.rfind(';', static_cast<size_t>(end - common.begin())));
  }
  const size_t begin = common.find(',', common.rfind(';')) + 1;
  return common.substr(begin, common.find(',', begin) - begin);
}

std::vector<std::string> list_segments(const std::filesystem::path& path) {
  const Program program = compile_training(path);
  std::vector<std::string> names;
  for (const Segment& segment : find_segments(program)) names.push_back(module_of(program, segment));
  return names;
}

using Modules = std::vector<std::string>;

}  // namespace

TEST_CASE("the segments are the repeated blocks of a model") {
  CHECK(list_segments(path_of("resnet")) == Modules{"layer1.0", "layer1.1", "layer2.0", "layer3.0", "layer4.0"});
  CHECK(list_segments(path_of("vit")) == Modules{"encoder.layers.encoder_layer_0", "encoder.layers.encoder_layer_1"});
  CHECK(list_segments(path_of("gpt2")) == Modules{"transformer.h.0", "transformer.h.1"});
  CHECK(list_segments(path_of("llama")) == Modules{"model.layers.0", "model.layers.1"});
  CHECK(list_segments(path_of("whisper")) == Modules{"model.encoder.layers.0", "model.encoder.layers.1",
                                                     "model.decoder.layers.0", "model.decoder.layers.1"});
}

TEST_CASE("a block that changes a tensor in place within itself is a segment") {
  CHECK(list_segments(tenon::exported::archive_path("residual")) == Modules{"blocks.0", "blocks.1"});
}

TEST_CASE("a block that changes its input in place is not a segment") {
  Records records = read_records(tenon::exported::archive_path("residual"));
  nlohmann::json model = nlohmann::json::parse(records.at("models/train.json"));
  // The second block ends in relu_: its input is the sum that the first block computes in place.
  auto& nodes = model["graph_module"]["graph"]["nodes"];
  for (auto& node : nodes) {
    const std::string modules = node["metadata"].value("nn_module_stack", "");
    if (modules.find("blocks.1") == std::string::npos || node["target"] != "torch.ops.aten.add_.Tensor") continue;
    if (node["inputs"][1]["arg"].contains("as_tensor")) std::swap(node["inputs"][0]["arg"], node["inputs"][1]["arg"]);
  }
  records["models/train.json"] = model.dump();
  CHECK(list_segments(write_records(records, "changed")) == Modules{"blocks.0"});
}

TEST_CASE("a model without repeated blocks has no segments") {
  CHECK(list_segments(tenon::exported::archive_path("mlp")).empty());
  CHECK(list_segments(tenon::exported::archive_path("pair")).empty());
}

namespace {

Operand read_slot(Slot slot) { return {Operand::Kind::slot, {}, slot}; }

// An instruction that adds a number to itself.
Instruction double_number(Slot number, Slot result, const std::string& modules) {
  Instruction instruction;
  instruction.modules = modules;
  instruction.symbolic = find_symbolic("_operator.add");
  instruction.operands = {read_slot(number), read_slot(number)};
  instruction.results = {{false, {result}}};
  return instruction;
}

Instruction add_tensors(Slot tensor, Slot result, const std::string& modules) {
  Instruction instruction;
  instruction.modules = modules;
  instruction.op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor");
  instruction.operands = {read_slot(tensor), read_slot(tensor), {Operand::Kind::constant, 1}};
  instruction.results = {{false, {result}}};
  return instruction;
}

}  // namespace

TEST_CASE("modules that nest a hundred thousand times do not exhaust the stack") {
  Program program;
  program.slot_count = 3;
  program.inputs = {{ProgramInput::Kind::user, 0, 0}};
  std::string modules = "c,x.0,T";
  for (int i = 1; i < 100'000; ++i) modules += ";c,x." + std::to_string(i % 2) + ",T";
  program.instructions = {add_tensors(0, 1, modules), add_tensors(1, 2, "")};
  CHECK(find_segments(program).empty());
}

TEST_CASE("numbers of a segment that depend on a hundred thousand others are computed in order") {
  constexpr size_t kCount = 100'000;
  const std::string first = "a,x.0,T;b,x.0.y,U", second = "c,x.1,T;d,x.1.y,U";
  Program program;
  program.slot_count = kCount + 4;
  program.inputs = {{ProgramInput::Kind::user, 0, 0}, {ProgramInput::Kind::user, 1, 1}};
  for (size_t i = 0; i < kCount; ++i) program.instructions.push_back(double_number(i + 1, i + 2, first));
  program.instructions.push_back(add_tensors(0, kCount + 2, first));
  program.instructions.push_back(add_tensors(kCount + 2, kCount + 3, second));
  program.outputs = {{ProgramOutput::Kind::user, 0, kCount + 3}, {ProgramOutput::Kind::user, 1, kCount + 1}};
  const std::vector<Segment> segments = find_segments(program);
  REQUIRE(segments.size() == 1);
  CHECK(segments[0].outputs == std::vector<Slot>{kCount + 2});
  CHECK(segments[0].numbers.size() == kCount);
  CHECK(std::ranges::is_sorted(segments[0].numbers));
}
