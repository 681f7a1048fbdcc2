// Files of torch.save and safetensors in several files. tests/parity/make_state_dicts.py wrote the references.
#include "framework/pipeline/build/weights_file.h"

#include <caffe2/serialize/inline_container.h>

#include <cstring>
#include <fstream>
#include <map>
#include <random>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/artifacts/checkpoint/state_dict_pickle.h"
#include "framework/pipeline/build/load_weights.h"
#include "framework/support/diagnostics/log.h"
#include "tests/doctest_with_torch.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

using namespace tenon::pipeline;
using tenon::contains;
using tenon::artifacts::TensorView;
using tenon::support::Error;

namespace {

namespace fs = std::filesystem;

const fs::path kReferences = TENON_SOURCE_DIR "/tests/parity/reference/state_dicts";

std::string read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

fs::path write(const std::string& name, const std::string& bytes) {
  const fs::path file = tenon::test_folder() / name;
  std::ofstream(file, std::ios::binary) << bytes;
  return file;
}

// The records of an archive by their names, without those that the writer adds.
std::map<std::string, std::string> read_records(const fs::path& file) {
  std::map<std::string, std::string> records;
  caffe2::serialize::PyTorchStreamReader reader(file.string());
  for (const std::string& name : reader.getAllRecords()) {
    if (name.starts_with(".data/") || name == "byteorder" || name == "version") continue;
    const auto [data, bytes] = reader.getRecord(name);
    records[name].assign(static_cast<const char*>(data.get()), bytes);
  }
  return records;
}

fs::path write_records(const std::string& name, const std::map<std::string, std::string>& records) {
  const fs::path file = tenon::test_folder() / name;
  caffe2::serialize::PyTorchStreamWriter writer(file.string());
  for (const auto& [record, bytes] : records) writer.writeRecord(record, bytes.data(), bytes.size());
  writer.writeEndOfFile();
  return file;
}

std::string refusal_of(const fs::path& file) {
  return tenon::find_error(tenon::support::ErrorKind::checkpoint, [&] { const WeightsFile opened(file); });
}

bool is_same(const TensorView& a, const TensorView& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.bytes == b.bytes &&
         (a.bytes == 0 || std::memcmp(a.data, b.data, a.bytes) == 0);
}

void check_same(const std::vector<TensorView>& found, const std::vector<TensorView>& expected) {
  REQUIRE(found.size() == expected.size());
  for (const TensorView& tensor : found) {
    CAPTURE(tensor.name);
    const auto same = std::ranges::find(expected, tensor.name, &TensorView::name);
    REQUIRE(same != expected.end());
    CHECK(is_same(tensor, *same));
  }
}

std::string pickle_text(const std::string& value) {
  return 'X' + std::string(1, static_cast<char>(value.size())) + std::string(3, '\0') + value;
}

std::string pickle_dict(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string pickle = "ccollections\nOrderedDict\n)R(";
  for (const auto& [key, value] : entries) pickle += pickle_text(key) + value;
  return pickle + "u";
}

// A vector of float32 in the record data/0. `elements`: their pickled number.
std::string pickle_vector(const std::string& elements) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + pickle_text("storage") + "ctorch\nFloatStorage\n" +
         pickle_text("0") + pickle_text("cpu") + elements + "tQK" + std::string(1, '\0') + '(' + elements +
         "t(K\1t\x89" + pickle_dict({}) + "tR";
}

// Mutates the file and opens it. It is refused, or has the same tensors: the archive has checksums.
void check_mutations(const std::string& name, int count) {
  const std::string whole = read(kReferences / (name + ".pth"));
  const WeightsFile expected(kReferences / (name + ".pth"));
  std::mt19937 random(11);
  int refused = 0;
  for (int i = 0; i < count; ++i) {
    CAPTURE(i);
    std::string bytes = whole;
    for (int change = 0; change <= static_cast<int>(random() % 4); ++change) {
      const size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0: bytes[at] = static_cast<char>(random()); break;
        case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << (random() % 8))); break;
        case 2: bytes.erase(at, random() % 64); break;
        default: bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 64)); break;
      }
      if (bytes.empty()) bytes = "P";
    }
    const fs::path file = write("mutated.pth", bytes);
    try {
      const WeightsFile opened(file);
      check_same(opened.tensors(), expected.tensors());
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused > count / 4);
}

}  // namespace

TEST_CASE("state_dicts of torch.save have the tensors that PyTorch saved") {
  for (const char* name : {"plain", "protocol_4", "protocol_5", "training", "parameters"}) {
    CAPTURE(name);
    const WeightsFile found(kReferences / (std::string(name) + ".pth"));
    const tenon::artifacts::SafetensorsFile expected(kReferences / (std::string(name) + ".safetensors"));
    check_same(found.tensors(), expected.tensors());
  }
}

TEST_CASE("a model's weights are loaded from a state_dict") {
  const at::Tensor weight = torch::zeros({2, 3, 4}), bias = torch::zeros({2}).to(torch::kDouble);
  load_weights(kReferences / "plain.pth", {{"model.weight", weight, true}, {"model.bias", bias, true}},
               {tenon::config::WeightsMatch::partial, {}, {{"a.*", "model.*"}}});
  CHECK(torch::equal(weight, torch::arange(24, torch::kFloat).view({2, 3, 4}) / 7));
  CHECK(bias[1].item<double>() == -2.25);
}

TEST_CASE("renamed tensors need a pattern that matches, and different names") {
  const auto load = [](const std::map<std::string, std::string>& rename) {
    try {
      load_weights(kReferences / "parameters.pth", {{"0.weight", torch::zeros({2, 3}), true}},
                   {tenon::config::WeightsMatch::partial, {}, rename});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("loaded");
  };
  CHECK(load({}) == "loaded");
  CHECK(contains(load({{"backbone.*", "*"}}), "model.weights_rename: \"backbone.*\" matches no tensor of "));
  CHECK(contains(load({{"0.weight", "1.weight"}}), "gives the tensors 0.weight and 1.weight of "));
  CHECK(load({{"1.*", "2.*"}, {"1.weight", "3.weight"}}) == "loaded");
}

TEST_CASE("a file that would execute code is refused by the name of its function") {
  const std::string refusal = refusal_of(kReferences / "command.pth");
  CHECK(contains(
      refusal,
      "command.pth: holds at \"command\" a Python object of \"posix.system\", which is not created; expected"));
  CHECK_FALSE(fs::exists("executed"));
  CHECK(contains(refusal_of(kReferences / "module.pth"),
                 "holds a Python object of \"torch.nn.modules.container.Sequential\""));
}

TEST_CASE("objects next to the weights are skipped, and the average is preferred") {
  for (const char* name : {"objects", "objects_4"}) {
    CAPTURE(name);
    const WeightsFile found(kReferences / (std::string(name) + ".pth"));
    const tenon::artifacts::SafetensorsFile expected(kReferences / "training.safetensors");
    check_same(found.tensors(), expected.tensors());
  }
  CHECK_FALSE(fs::exists("executed"));
  CHECK(contains(refusal_of(kReferences / "array.pth"), "array.pth: holds at \"b\" a Python object of \"numpy"));
}

TEST_CASE("other files of PyTorch are refused with what to do") {
  CHECK(contains(refusal_of(kReferences / "legacy.pth"),
                 "is a pickle, as torch.save wrote it before PyTorch 1.6; expected safetensors, or a state_dict"));
  CHECK(contains(refusal_of(kReferences / "script.pth"), "is a TorchScript model; expected weights"));
  CHECK(contains(refusal_of(kReferences / "no_tensors.pth"),
                 "has a dictionary without tensors, with the keys \"epoch\", \"weights\"; expected a state_dict"));
  CHECK(contains(refusal_of(write("zip.pth", "PK\x03\x04nothing")), "the directory of the archive is damaged"));
}

TEST_CASE("an archive that would fill the memory is refused") {
  const std::string whole = read(kReferences / "plain.pth");
  const std::string entry = "PK\x01\x02", huge = "\x01\x01\x01\x04";  // 64 MiB and more
  const size_t first = whole.find(entry);
  std::string bytes = whole;
  bytes.replace(first + 24, huge.size(), huge);
  CHECK(
      contains(refusal_of(write("compressed.pth", bytes)),
               "compressed.pth: the records of the archive have more than 67108864 bytes together; expected a file of "
               "torch.save, which is not compressed"));
  // LibTorch reads the directory of the last signature, also where the length of the comment is wrong.
  std::string two = whole + bytes.substr(first, bytes.find("PK\x06\x06") - first);
  two += bytes.substr(bytes.rfind("PK\x05\x06")) + "x";
  const auto offset = static_cast<uint32_t>(whole.size());
  std::memcpy(two.data() + two.size() - 1 - 22 + 16, &offset, sizeof offset);
  CHECK(contains(refusal_of(write("two_directories.pth", two)),
                 "two_directories.pth: the records of the archive have more"));
}

TEST_CASE("a tensor of type BOOL with other bytes than 0 and 1 is refused") {
  std::map<std::string, std::string> records = read_records(kReferences / "plain.pth");
  std::string& truths = records.at("data/6");
  REQUIRE(truths == std::string("\1\0\1", 3));
  CHECK(refusal_of(write_records("truths.pth", records)) == "accepted");
  truths[1] = 2;
  CHECK(contains(refusal_of(write_records("other_bytes.pth", records)),
                 "other_bytes.pth: the element 1 of the tensor \"mask\" of type BOOL is 2; expected 0 or 1"));
}

TEST_CASE("tensors with far more bytes than the file are refused before memory is allocated") {
  const std::string elements("J\0\0\0\x08", 5);  // 2^27 of 4 bytes
  const std::string tensor = pickle_vector(elements);
  const std::string pickle = pickle_dict({{"a", tensor}, {"b", tensor}, {"c", tensor}});
  const fs::path file = write_records("shared.pth", {{"data.pkl", "\x80\x02" + pickle + "."}, {"data/0", "abcd"}});
  CHECK(contains(refusal_of(file), "shared.pth: has tensors with more than 16 times the bytes of the file"));
}

TEST_CASE("a mutated file is refused or has the same tensors") {
  check_mutations("plain", 150);
  check_mutations("training", 150);
}

TEST_CASE("two thousand mutated files are refused or have the same tensors" * doctest::test_suite("soak") *
          doctest::skip()) {
  check_mutations("plain", 1000);
  check_mutations("training", 1000);
}

TEST_CASE("an index names the file of each tensor") {
  const auto write_part = [](const std::string& name, const std::vector<std::string>& tensors) {
    static const std::vector<float> kElements{1, 2};
    std::vector<TensorView> views;
    for (const std::string& tensor : tensors)
      views.push_back({tensor, TENON_FLOAT32, {2}, reinterpret_cast<const std::byte*>(kElements.data()), 8});
    tenon::artifacts::write_safetensors(tenon::test_folder() / name, views, {}, tenon::support::ErrorKind::checkpoint);
  };
  write_part("model-1.safetensors", {"a", "b"});
  write_part("model-2.safetensors", {"c"});
  const auto write_index = [](const std::string& map) {
    return write("model.safetensors.index.json", R"({"metadata": {"total_size": 24}, "weight_map": )" + map + "}");
  };
  const fs::path index =
      write_index(R"({"a": "model-1.safetensors", "b": "model-1.safetensors", "c": "model-2.safetensors"})");
  const WeightsFile opened(index);
  CHECK(opened.tensors().size() == 3);
  const WeightsFile of_folder(tenon::test_folder());
  CHECK(of_folder.tensors().size() == 3);

  CHECK(contains(refusal_of(write_index(R"({"a": "model-1.safetensors"})")), "does not list the tensor \"b\""));
  CHECK(contains(refusal_of(write_index(R"({"a": "model-1.safetensors", "b": "model-1.safetensors",
                                       "d": "model-2.safetensors"})")),
                 "does not list the tensor \"c\""));
  CHECK(contains(refusal_of(write_index(R"({"c": "model-2.safetensors", "e": "model-2.safetensors"})")),
                 "lists the tensor \"e\" in model-2.safetensors, which lacks it"));
  for (const char* const name : {"../model-2.safetensors", "", ".", ".."})
    CHECK(
        contains(refusal_of(write_index(std::string(R"({"c": ")") + name + "\"}")), "expected a name without folders"));
  CHECK(contains(refusal_of(write_index(R"({"c": "model-3.safetensors"})")), "model-3.safetensors"));
  CHECK(contains(refusal_of(write_index("[1]")), "is not an index of safetensors files"));
  fs::remove(index);
  CHECK(contains(refusal_of(tenon::test_folder()), "is a folder without model.safetensors.index.json"));
}

TEST_CASE("the other dictionaries of as many tensors are listed, under any key") {
  std::string pickle = read_records(kReferences / "objects.pth").at("data.pkl");
  using tenon::artifacts::parse_state_dict;
  CHECK(parse_state_dict(pickle, "a.pth").key == "state_dict_ema");
  CHECK(parse_state_dict(pickle, "a.pth").others == std::vector<std::string>{R"(["state_dict"])"});
  const std::string known = "state_dict_ema", unknown = "ema_state_dict";
  pickle.replace(pickle.find(known), known.size(), unknown);
  CHECK(parse_state_dict(pickle, "a.pth").key == "state_dict");
  CHECK(parse_state_dict(pickle, "a.pth").others == std::vector<std::string>{"[\"" + unknown + "\"]"});
}

TEST_CASE("the warning about averaged weights within a dictionary has every key that saves them alone") {
  const std::string weights = pickle_dict({{"w", pickle_vector("K\1")}});
  const auto write_pickle = [](const std::string& name, const std::string& pickle) {
    return write_records(name, {{"data.pkl", "\x80\x02" + pickle + "."}, {"data/0", "abcd"}});
  };
  const std::string average = pickle_dict({{"decay", "K\1"}, {"module", weights}});
  tenon::support::collect_warnings();
  const WeightsFile both(write_pickle("both.pth", pickle_dict({{"model", weights}, {"model_ema", average}})));
  const std::vector<std::string> warnings = tenon::support::take_warnings();
  REQUIRE(warnings.size() == 1);
  CHECK(
      warnings[0].ends_with(R"(both.pth: the weights are at ["model"]; those at ["model_ema"]["module"] are not used: )"
                            R"(to use them, save them alone, torch.save(torch.load("both.pth", weights_only=True))"
                            R"(["model_ema"]["module"], FILE))"));
  // What that saves.
  CHECK(WeightsFile(write_pickle("alone.pth", weights)).tensors().size() == 1);
}
