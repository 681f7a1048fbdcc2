#include <doctest/doctest.h>

#include <filesystem>

#include "framework/artifacts/checkpoint/safetensors.h"

TEST_CASE("the seeds written by Python can be read") {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TENON_FUZZ_SEEDS "/safetensors")) {
    if (!entry.path().filename().string().starts_with("python_")) continue;
    CHECK_NOTHROW(tenon::artifacts::SafetensorsFile{entry.path()});
    ++count;
  }
  CHECK(count >= 4);
}
