// Compares a run with the reference values of its plugins, or writes new ones:
//
//   compare_golden RUN_FOLDER VALUES.json
//   compare_golden RUN_FOLDER VALUES.json --update
//
// Exit status: 0 if every metric and every tensor agrees, 1 if one differs, 2 on an error.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/golden/golden_values.h"

namespace tenon::golden {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr size_t kMaxLines = 20;

int update(const ordered_json& found, const fs::path& file) {
  std::ofstream stream(file);
  stream << found.dump(1) << "\n";
  stream.close();
  if (!stream) throw std::runtime_error(file.string() + ": cannot be written");
  std::printf("%s: written\n", file.c_str());
  return 0;
}

int compare(const ordered_json& found, const fs::path& file) {
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error(file.string() + ": cannot be opened");
  const ordered_json kept = ordered_json::parse(stream);
  const std::vector<std::string> differences = find_differences(kept, found);
  for (size_t i = 0; i < differences.size() && i < kMaxLines; ++i) std::printf("%s\n", differences[i].c_str());
  if (differences.size() > kMaxLines) std::printf("and %zu more\n", differences.size() - kMaxLines);
  if (!differences.empty()) return 1;
  size_t metrics = 0;
  for (const ordered_json& line : kept.at("history")) metrics += line.at("metrics").size();
  std::printf("%zu metrics and %zu tensors agree with the reference\n", metrics, kept.at("weights").size());
  return 0;
}

}  // namespace
}  // namespace tenon::golden

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool updates = arguments.size() == 3 && arguments[2] == "--update";
  if (arguments.size() != 2 && !updates) {
    std::fprintf(stderr, "usage: compare_golden RUN_FOLDER VALUES.json [--update]\n");
    return 2;
  }
  try {
    const auto found = tenon::golden::read_values(arguments[0]);
    return updates ? tenon::golden::update(found, arguments[1]) : tenon::golden::compare(found, arguments[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "compare_golden: %s\n", error.what());
    return 2;
  }
}
