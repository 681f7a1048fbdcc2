// Runs a fuzz target on the seeds and on the inputs that once revealed a bug.
#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

TEST_CASE("every stored input passes the fuzz target, which aborts if an invariant is violated") {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TENON_FUZZ_SEEDS)) {
    std::ifstream stream(entry.path(), std::ios::binary);
    const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(stream), {}};
    CAPTURE(entry.path().string());
    CHECK(LLVMFuzzerTestOneInput(bytes.data(), bytes.size()) == 0);
    ++count;
  }
  CHECK(count >= 5);
}
