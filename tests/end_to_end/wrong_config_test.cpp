// Every file of tests/fixtures/wrong_configs through the real host and the real plugins.
#include <doctest/doctest.h>

#include <sstream>

#include "tests/end_to_end/hosted_run.h"

namespace fs = std::filesystem;
using namespace tenon::end_to_end;

TEST_CASE("every wrong run file ends with code 2 and the message that it expects") {
  int count = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(TENON_SOURCE_DIR "/tests/fixtures/wrong_configs")) {
    if (entry.path().extension() != ".toml") continue;
    ++count;
    const Outcome outcome = run_host({"--config", entry.path().string(), "--check"});
    CAPTURE(entry.path().filename().string());
    CAPTURE(outcome.errors);
    CHECK(outcome.exit_code == 2);
    std::istringstream lines(read_file(entry.path()));
    const std::string marker = "# expect: ";
    for (std::string line; std::getline(lines, line) && line.starts_with(marker);)
      CHECK(outcome.errors.find(line.substr(marker.size())) != std::string::npos);
  }
  CHECK(count >= 40);
}
