// Tests host export: weights for Python, and the model as TorchScript, which check_export.py runs in Python.
#include <doctest/doctest.h>

#include <tenon/abi.h>

#include <cstring>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

namespace export_test {

using namespace tenon::end_to_end;
using tenon::contains;
using tenon::artifacts::SafetensorsFile;
using tenon::artifacts::TensorView;
namespace fs = std::filesystem;

namespace {

const std::string kDigits = TENON_SOURCE_DIR "/configs/digits_mlp.toml";

// A linear model of the digits, trained for a few steps. It is trained once for all tests.
const fs::path& trained_output() {
  static const fs::path output = [] {
    const fs::path folder = make_empty_folder("exported_runs");
    REQUIRE(run_host({"--config", kDigits, "--set", "run.output_dir=\"" + folder.string() + "\"", "--set",
                      "model.params.hidden=[]", "--set", "train={steps=3}"})
                .exit_code == 0);
    return folder;
  }();
  return output;
}

Outcome run_on_digits(const std::string& command, const std::vector<std::string>& more) {
  return run_host(joined({command, "--config", kDigits, "--set", "run.output_dir=\"" + trained_output().string() + "\"",
                          "--set", "model.params.hidden=[]"},
                         more));
}

fs::path export_as(const std::string& name, const std::vector<std::string>& more = {}) {
  fs::path file = make_empty_folder("exported_" + name) / name;
  const Outcome outcome = require_success(run_on_digits("export", joined(more, {"--output", file.string()})));
  CHECK(outcome.output.find("weights ") == 0);
  return file;
}

void check_refused(const std::vector<std::string>& more, const std::string& name, const std::string& message,
                   int exit_code = 2) {
  const fs::path file = tenon::test_folder() / name;
  check_errors(run_on_digits("export", joined(more, {"--output", file.string()})), exit_code, {message});
  CHECK_FALSE(fs::exists(file));
}

float read_float(const TensorView& tensor, size_t index) {
  float value = 0;
  std::memcpy(&value, tensor.data + index * sizeof value, sizeof value);
  return value;
}

}  // namespace

TEST_CASE("exported weights equal those of the checkpoint and give the same metrics") {
  const fs::path file = export_as("a.safetensors");
  const fs::path run = find_run_folder(trained_output(), "digits_mlp");
  CHECK(run_host({"checkpoint", "diff", file.string(), run.string()}).exit_code == 0);
  const tenon::artifacts::Metadata metadata = SafetensorsFile(file).metadata();
  CHECK(metadata.size() == 3);
  CHECK(metadata.at("format") == "pt");
  CHECK(contains(metadata.at("tenon.json"), "\"preprocessing\":[{\"name\":\"normalize\",\"divide_by\":16,"));
  const Outcome theirs = run_on_digits("evaluate", {}),
                ours = run_on_digits("evaluate", {"--checkpoint", file.string()});
  CHECK(ours.exit_code == 0);
  CHECK(ours.output.substr(ours.output.find('\n')) == theirs.output.substr(theirs.output.find('\n')));
}

TEST_CASE("floating-point tensors are exported in the requested dtype") {
  for (const auto& [dtype, expected] :
       {std::pair("fp16", TENON_FLOAT16), std::pair("bf16", TENON_BFLOAT16), std::pair("fp32", TENON_FLOAT32)}) {
    const SafetensorsFile file(export_as("a.safetensors", {"--dtype", dtype}));
    REQUIRE(file.tensors().size() == 2);
    for (const TensorView& tensor : file.tensors()) CHECK(tensor.dtype == expected);
  }
  // The truncated significand of bfloat16 is the upper half of float32, rounded to nearest.
  const SafetensorsFile whole(export_as("a.safetensors"));
  const SafetensorsFile half(export_as("b.safetensors", {"--dtype", "bf16"}));
  uint16_t bits = 0;
  std::memcpy(&bits, half.find("layers.0.weight")->data, sizeof bits);
  const uint32_t widened = static_cast<uint32_t>(bits) << 16;
  float value = 0;
  std::memcpy(&value, &widened, sizeof value);
  const float exact = read_float(*whole.find("layers.0.weight"), 0);
  CHECK(value == doctest::Approx(exact).epsilon(1.0 / 256));
}

TEST_CASE("values that float16 cannot represent are refused with the tensor's name") {
  const fs::path file = export_as("a.safetensors");
  std::string bytes = read_file(file);
  const float large = 70000;
  std::memcpy(bytes.data() + bytes.size() - sizeof large, &large, sizeof large);
  const fs::path changed = write_file(tenon::test_folder() / "large.safetensors", bytes);
  check_refused({"--checkpoint", changed.string(), "--dtype", "fp16"}, "refused.safetensors",
                "layers.0.bias has numbers that are too large for float16");
}

TEST_CASE("a model is exported as TorchScript, an archive that torch.jit.load reads") {
  const fs::path file = export_as("a.pt");
  CHECK(read_file(file).starts_with("PK"));
  const Outcome traced = run_on_digits("export", {"--data", "train", "--output", file.string()});
  CHECK(contains(traced.output, "TorchScript, traced on 64 samples of train; outputs verified against the model"));
}

TEST_CASE("wrong arguments of export are refused with the expected ones") {
  check_refused({}, "refused.onnx", "expected a name that ends in .tenon, .safetensors, .pt or .pt2");
  check_refused({}, "refused.pt2", "the model mlp does not come from one");
  check_refused({"--dtype", "fp32"}, "refused.pt2", "the graph of an archive fixes its dtypes");
  check_refused({"--dtype", "fp8"}, "refused.safetensors", "--dtype is \"fp8\"");
  check_refused({"--dtype", "bf16"}, "refused.pt", "--dtype works only for .safetensors");
  check_refused({"--data", "train"}, "refused.safetensors", "--data works only for TorchScript");
  check_refused({"--checkpoint", "nowhere"}, "refused.safetensors", "nowhere: does not exist", 5);
  check_refused({"--set", "model.params.hidden=[7]"}, "refused.safetensors", "does not fit the model", 5);
  CHECK(run_host({"export", "--config", kDigits}).errors.find("export has no --output") != std::string::npos);
}

}  // namespace export_test
