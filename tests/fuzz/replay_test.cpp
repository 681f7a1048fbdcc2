// Runs the fuzz target on the seeds and on the inputs that once revealed a bug.
#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "framework/artifacts/checkpoint/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

const std::filesystem::path kSeeds = TENON_SOURCE_DIR "/tests/fuzz/seeds";

std::vector<uint8_t> read_bytes(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

TEST_CASE("every stored input passes the fuzz target, which aborts if an invariant is violated") {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kSeeds)) {
    const std::vector<uint8_t> bytes = read_bytes(entry.path());
    CAPTURE(entry.path().string());
    CHECK(LLVMFuzzerTestOneInput(bytes.data(), bytes.size()) == 0);
    ++count;
  }
  CHECK(count >= 5);
}

TEST_CASE("the seeds written by Python can be read") {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kSeeds)) {
    if (!entry.path().filename().string().starts_with("python_")) continue;
    CHECK_NOTHROW(tenon::artifacts::SafetensorsFile{entry.path()});
    ++count;
  }
  CHECK(count >= 4);
}
