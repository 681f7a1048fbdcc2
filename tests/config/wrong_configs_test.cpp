// tests/fixtures/wrong_configs: run files with one error each. Their first lines contain the expected message.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "tests/config/run_file.h"
#include "tests/messages.h"

namespace tenon::config {
namespace {

std::vector<std::filesystem::path> list_wrong_configs() {
  const auto folder = std::filesystem::path(TENON_SOURCE_DIR) / "tests/fixtures/wrong_configs";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// Returns the texts of the lines `# expect: ...` at the top of the file.
std::vector<std::string> read_expectations(const std::filesystem::path& file) {
  const std::string mark = "# expect: ";
  std::vector<std::string> expectations;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line) && line.starts_with(mark);) {
    expectations.push_back(line.substr(mark.size()));
  }
  return expectations;
}

std::string refusal_of(const std::filesystem::path& file) {
  return find_error(support::ErrorKind::configuration, [&] { read_plan(file); });
}

}  // namespace

TEST_CASE("every invalid run file is refused with location, found and expected value") {
  const auto files = list_wrong_configs();
  CHECK(files.size() >= 45);
  for (const auto& file : files) {
    CAPTURE(file.filename().string());
    const auto expectations = read_expectations(file);
    REQUIRE_FALSE(expectations.empty());
    const std::string message = refusal_of(file);
    CAPTURE(message);
    for (const std::string& expected : expectations) {
      CAPTURE(expected);
      CHECK(message.find(expected) != message.npos);
    }
    CHECK(std::regex_search(message, std::regex(file.filename().string() + ":[1-9][0-9]*:[1-9][0-9]*: ")));
    CHECK(std::count(message.begin(), message.end(), '\n') == 0);  // one error, one line
  }
}

}  // namespace tenon::config
