// Runs the fuzz targets of this program on the seeds and on the inputs that once revealed a bug.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/fuzz/fuzz_target.h"

namespace tenon::fuzz {
namespace {

// csv_like_python has the seeds of csv.
std::filesystem::path find_seeds(const FuzzTarget& target) {
  const std::string name = target.name;
  return std::filesystem::path(TENON_FUZZ_SEEDS) / name.substr(0, name.find("_like_"));
}

}  // namespace

TEST_CASE("every stored input passes the fuzz target, which aborts if an invariant is violated") {
  REQUIRE_FALSE(list_targets().empty());
  for (const FuzzTarget& target : list_targets()) {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(find_seeds(target))) {
      std::ifstream stream(entry.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
      CAPTURE(entry.path().string());
      CHECK_NOTHROW(run_target(target, {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}));
      ++count;
    }
    CAPTURE(target.name);
    CHECK(count >= 4);
  }
}

}  // namespace tenon::fuzz
