// Archives that are damaged, or made to harm: each is refused with a message, or computes.
#include <caffe2/serialize/inline_container.h>
#include <torch/types.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>

#include "framework/support/diagnostics/error.h"
#include "plugins/models/exported/schema.h"
#include "tests/doctest_with_torch.h"
#include "tests/exported/archives.h"
#include "tests/test_folder.h"

namespace malformed_archives_test {

using namespace tenon::exported;
using nlohmann::json;
using tenon::components::Model;

namespace {

const bool kHasOneThread = (at::set_num_threads(1), true);

constexpr const char* kTrain = "models/train.json";
constexpr const char* kWeights = "data/weights/train_weights_config.json";

// Changes a JSON record of the archive of the mlp.
template <class Change>
std::filesystem::path change_json(const std::string& record, Change&& change) {
  Records records = read_records(archive_path("mlp"));
  json value = json::parse(records.at(record));
  change(value);
  records[record] = value.dump();
  return write_records(records, "changed");
}

template <class Change>
std::filesystem::path change_node(Change&& change, size_t index = 0) {
  return change_json(kTrain, [&](json& model) { change(model["graph_module"]["graph"]["nodes"][index]); });
}

template <class Change>
std::filesystem::path change_weight(Change&& change) {
  return change_json(kWeights, [&](json& table) { change(table["config"]["hidden.weight"]); });
}

std::filesystem::path change_record(const std::string& record, const std::string& bytes) {
  Records records = read_records(archive_path("mlp"));
  records[record] = bytes;
  return write_records(records, "changed");
}

void check_refused(const std::filesystem::path& path, const std::string& message) {
  CHECK_THROWS_WITH_AS(open_archive(path), doctest::Contains(message.c_str()), tenon::support::Error);
}

// A batch of 4 samples. A damaged graph may declare any size.
at::Tensor make_input(const tenon::components::Port& port) {
  std::vector<int64_t> sizes;
  for (const auto& extent : port.shape.extents) sizes.push_back(std::min<int64_t>(extent.size.value_or(4), 8));
  const bool is_integer = port.dtypes == TENON_DTYPE_BIT(TENON_INT64);
  return torch::ones(sizes, is_integer ? torch::kLong : torch::kFloat);
}

// Opens the archive and runs it. Returns whether that succeeded; the only error that may leave is tenon's.
bool opens(const std::filesystem::path& path) {
  try {
    const Model model = open_archive(path);
    std::vector<at::Tensor> inputs;
    for (const tenon::components::Port& port : model.inputs()) inputs.push_back(make_input(port));
    for (const bool training : {true, false}) model.forward({.training = training}, inputs);
    return true;
  } catch (const tenon::support::Error& error) {
    CHECK(std::string(error.what()).size() > 10);
    return false;
  }
}

// All values within a value.
void list_values(json& value, std::vector<json*>& values) {
  values.push_back(&value);
  if (value.is_structured())
    for (json& each : value) list_values(each, values);
}

json make_value(std::mt19937& random) {
  switch (random() % 12) {
    case 0: return nullptr;
    case 1: return -1;
    case 2: return INT64_MAX;
    case 3: return UINT64_MAX;
    case 4: return 1e308;
    case 5: return "";
    case 6: return "x";
    case 7: return json::array();
    case 8: return json::object();
    case 9: return true;
    case 10: return {{"as_unknown", 1}};
    default: return {{"as_int", INT64_MIN}};
  }
}

void mutate(json& whole, std::mt19937& random) {
  std::vector<json*> values;
  list_values(whole, values);
  json& target = *values[random() % values.size()];
  switch (random() % 5) {
    case 0: target = make_value(random); break;
    case 1: target = json(*values[random() % values.size()]); break;
    case 2:
      if (target.is_structured() && !target.empty())
        target.erase(std::next(target.begin(), static_cast<ptrdiff_t>(random() % target.size())));
      break;
    case 3:
      if (target.is_array() && !target.empty()) target.push_back(json(target[random() % target.size()]));
      break;
    default:
      if (target.is_array() && target.size() > 1) std::swap(target.front(), target.back());
  }
}

}  // namespace

TEST_CASE("an archive of another format or version is refused before its graph is read") {
  check_refused(change_record("archive_format", "pt3"), "the format is \"pt3\"; expected \"pt2\"");
  check_refused(change_record("archive_version", "1"), "the version of the archive is \"1\"; expected \"0\"");
  check_refused(change_record("byteorder", "big"), "the byte order is \"big\"; expected \"little\"");
  check_refused(change_json(kTrain,
                            [](json& model) {
                              model = {{"schema_version", {{"major", 9}}}};
                            }),
                "models/train.json: the version of the schema is 9; expected 8");
}

TEST_CASE("a file that is not an archive is refused") {
  check_refused(TENON_SOURCE_DIR "/README.md", "README.md: is not a .pt2 archive of torch.export");
  check_refused(TENON_SOURCE_DIR "/docs", "is a folder; expected a regular file");
  check_refused(TENON_SOURCE_DIR "/none.pt2", "cannot be read: No such file or directory");
  check_refused(change_record(kTrain, "{"), "models/train.json: is not JSON");
  check_refused(change_record(kTrain, std::string(100000, '[')), "nests more than 200 levels deep");
}

TEST_CASE("an archive with other models than one, or train and eval, is refused") {
  check_refused(change_record("models/more.json", "{}"), "has the models eval, more, train; expected one model, or");
}

TEST_CASE("a tensor with sizes that do not fit its record is refused before memory is allocated") {
  check_refused(change_weight([](json& weight) { weight["tensor_meta"]["sizes"][0]["as_int"] = INT64_MAX; }),
                "tensor \"hidden.weight\"");
  check_refused(change_weight([](json& weight) { weight["tensor_meta"]["sizes"][0]["as_int"] = 9; }),
                "ends at element 54; its record has 48");
  check_refused(change_weight([](json& weight) {
                  weight["tensor_meta"]["sizes"][0]["as_int"] = int64_t{1} << 40;
                  weight["tensor_meta"]["strides"][0]["as_int"] = 0;
                }),
                "has more elements than the 48 of its record");
  check_refused(change_weight([](json& weight) { weight["tensor_meta"]["strides"][0]["as_int"] = -6; }), "is negative");
  check_refused(change_weight([](json& weight) { weight["tensor_meta"]["storage_offset"]["as_int"] = 1; }),
                "ends at element 49; its record has 48");
  check_refused(change_weight([](json& weight) { weight["tensor_meta"]["dtype"] = 99; }),
                "the dtype 99 is not supported");
  check_refused(change_weight([](json& weight) { weight["tensor_meta"]["layout"] = 1; }),
                "the layout 1 is not supported");
}

TEST_CASE("a tensor of type BOOL with other bytes than 0 and 1 is refused") {
  constexpr int kBool = 12;  // of the schema
  check_refused(change_weight([&](json& weight) { weight["tensor_meta"]["dtype"] = kBool; }), "of type BOOL is ");
}

TEST_CASE("records outside of their folder, and pickles, are refused") {
  for (const char* name : {"/etc/passwd", "../constants/tensor_0", "", "."})
    check_refused(change_weight([&](json& weight) { weight["path_name"] = name; }), "expected a name such as weight_0");
  check_refused(change_weight([](json& weight) { weight["path_name"] = "weight_99"; }),
                "has no record data/weights/weight_99");
  check_refused(change_weight([](json& weight) { weight["use_pickle"] = true; }), "is pickled, which is never read");
}

TEST_CASE("a node that cannot run is refused with its name and its line of Python") {
  const std::string node = "node linear (torch.ops.aten.linear.default), File \"make_exported.py\", line ";
  check_refused(change_node([](json& each) { each["inputs"][0]["arg"]["as_tensor"]["name"] = "linear_1"; }), node);
  check_refused(change_node([](json& each) { each["inputs"][0]["arg"]["as_tensor"]["name"] = "linear_1"; }),
                "argument input: reads \"linear_1\", which no earlier node computes");
  check_refused(change_node([](json& each) { each["inputs"][0]["arg"]["as_tensor"]["name"] = "linear"; }),
                "reads \"linear\", which no earlier node computes");
  check_refused(change_node([](json& each) {
                  each["inputs"][0]["arg"] = {{"as_mystery", 3}};
                }),
                "found {\"as_mystery\":3}; expected Tensor");
  check_refused(change_node([](json& each) { each["inputs"][0]["name"] = "imput"; }), "argument input: is missing");
  check_refused(change_node([](json& each) { each["target"] = "torch.ops.aten.linearly.default"; }),
                "this LibTorch has no such operator");
  check_refused(change_node([](json& each) { each["target"] = "os.system"; }), "this target is not supported");
  check_refused(change_node([](json& each) { each["target"] = "torch.ops.aten.from_file.default"; }), "reads a file");
  check_refused(change_node([](json& each) { each["outputs"].push_back(each["outputs"][0]); }),
                "two values are called \"linear\"");
}

TEST_CASE("a list with a million elements is read in linear time, and a deep one is refused") {
  std::string list = "[";
  for (int i = 0; i < 1'000'000; ++i) list += "[],";
  CHECK(exported::parse_json(list + "[]]").size() == 1'000'001);
  const auto nest = [](size_t levels) { return std::string(levels, '[') + "\"]\\\"[[\"" + std::string(levels, ']'); };
  CHECK(exported::parse_json(nest(200)).size() == 1);
  CHECK_THROWS_WITH_AS(exported::parse_json(nest(201)), "nests more than 200 levels deep", std::invalid_argument);
}

TEST_CASE("an output with a long name is refused, because each output would repeat it") {
  check_refused(
      change_json(kTrain,
                  [](json& model) {
                    const json leaf = {{"type", nullptr}, {"context", nullptr}, {"children_spec", json::array()}};
                    const json tree = {{"type", "builtins.dict"},
                                       {"context", json(json::array({std::string(300, 'x')})).dump()},
                                       {"children_spec", {leaf}}};
                    for (json& call : model["graph_module"]["module_call_graph"])
                      if (call["fqn"] == "") call["signature"]["out_spec"] = json::array({1, tree}).dump();
                  }),
      "the name of an output has more than 256 characters");
}

TEST_CASE("an archive with records that fill more memory than the file is refused before one is read") {
  const std::filesystem::path path = tenon::test_folder() / "expanding.pt2";
  {
    caffe2::serialize::PyTorchStreamWriter writer(path.string());
    const std::string zeros(40 << 20, '\0');
    for (const char* name : {"first", "second"}) writer.writeRecord(name, zeros.data(), zeros.size(), true);
    writer.writeEndOfFile();
  }
  CHECK(std::filesystem::file_size(path) < 1 << 20);
  check_refused(path, "bytes, more than the whole file; expected an archive that is not compressed");
}

TEST_CASE("a batch size that is fixed is refused with what to do") {
  check_refused(change_json(kTrain,
                            [](json& model) {
                              model["graph_module"]["graph"]["tensor_values"]["x"]["sizes"][0] = {{"as_int", 4}};
                            }),
                "no input has a dynamic batch size: input x is [4,6]; export with dynamic_shapes");
}

TEST_CASE("graphs for training and evaluation with different inputs are refused") {
  check_refused(change_json("models/eval.json",
                            [](json& model) {
                              model["graph_module"]["graph"]["tensor_values"]["x"]["sizes"][1] = {{"as_int", 7}};
                            }),
                "the graphs for training and evaluation differ: x [N,6], an output [N,3] and x [N,7]");
}

namespace {

// Returns how many of the archives are refused.
int refuse_changed_graphs(int count) {
  std::mt19937 random(7);
  int refused = 0;
  for (int i = 0; i < count; ++i) {
    Records records =
        read_records(archive_path(std::array{"mlp", "cnn", "encoder", "pair", "counter", "residual"}[random() % 6]));
    const char* const name = std::array{kTrain, kTrain, "models/eval.json", kWeights}[random() % 4];
    json value = json::parse(records.at(name));
    for (uint32_t k = 0; k <= random() % 3; ++k) mutate(value, random);
    records[name] = value.dump();
    refused += opens(write_records(records, "mutated")) ? 0 : 1;
  }
  return refused;
}

int refuse_changed_bytes(int count) {
  std::mt19937 random(8);
  std::ifstream stream(archive_path("mlp"), std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(stream), {}};
  int refused = 0;
  for (int i = 0; i < count; ++i) {
    std::string bytes = whole;
    if (i % 10 == 0) bytes.resize(random() % bytes.size());
    for (uint32_t k = 0; k <= random() % 4 && !bytes.empty(); ++k)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    const std::filesystem::path path = tenon::test_folder() / "damaged.pt2";
    std::ofstream(path, std::ios::binary) << bytes;
    refused += opens(path) ? 0 : 1;
  }
  return refused;
}

}  // namespace

TEST_CASE("three hundred archives with changed graphs and tables are refused or run") {
  const int refused = refuse_changed_graphs(300);
  CHECK(refused > 50);
  CHECK(refused < 300);
}

TEST_CASE("three hundred archives with changed or missing bytes are refused or run") {
  const int refused = refuse_changed_bytes(300);
  CHECK(refused > 150);
}

TEST_CASE("five thousand changed archives are refused or run" * doctest::test_suite("soak") * doctest::skip()) {
  CHECK(refuse_changed_graphs(2500) > 400);
  CHECK(refuse_changed_bytes(2500) > 1250);
}

}  // namespace malformed_archives_test
