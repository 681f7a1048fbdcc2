#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>

#include "tests/end_to_end/hosted_run.h"

namespace portable_model_test {

namespace fs = std::filesystem;
using namespace tenon::end_to_end;

namespace {

fs::path train(const std::string& name, const std::string& model) {
  const fs::path output = make_empty_folder(name);
  require_success(run_host({"--config", TENON_SOURCE_DIR "/configs/digits.toml", "--plugin-dir",
                            TENON_BINARY_DIR "/tests/fixtures/plugins/portable_cnn", "--set", "model=" + model, "--set",
                            "train={steps=40}", "--set", "run.output_dir=\"" + output.string() + "\""}));
  return find_run_folder(output, "digits");
}

const char* const kWeights = "checkpoints/latest/model.safetensors";

// The bytes after the header, which has the parameters of the model.
std::string read_tensors(const fs::path& run) {
  const std::string file = read_file(run / kWeights);
  uint64_t header = 0;
  REQUIRE(file.size() > sizeof header);
  std::memcpy(&header, file.data(), sizeof header);
  return file.substr(sizeof header + header);
}

}  // namespace

TEST_CASE("a model without LibTorch trains to the same bytes as the same model with LibTorch") {
  const std::string start = (train("twins_start", "{use=\"small_cnn\"}") / kWeights).string();
  const auto from_there = [&](const char* use) {
    return "{use=\"" + std::string(use) + "\", weights=\"" + start + "\"}";
  };
  const fs::path native = train("native_twin", from_there("small_cnn"));
  const fs::path portable = train("portable_twin", from_there("portable_cnn"));
  CHECK(read_tensors(native) == read_tensors(portable));
  CHECK(read_history_without_times(native) == read_history_without_times(portable));
}

}  // namespace portable_model_test
