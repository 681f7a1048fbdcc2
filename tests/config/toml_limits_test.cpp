#include "framework/config/toml/toml_tree.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "framework/config/file/usable_resources.h"
#include "tests/config/run_file.h"
#include "tests/messages.h"

namespace tenon::config {
namespace {

constexpr const char* kKeyExcess =
    "a key has more than 32 parts, separated by dots; expected at most 32; shorten the key";
constexpr const char* kNestingExcess =
    "lists and tables are nested more than 32 deep; expected at most 32; remove brackets";

std::string repeat(const std::string& piece, size_t times) {
  std::string text;
  for (size_t i = 0; i < times; ++i) text += piece;
  return text;
}

std::string excess_of(const std::string& text) {
  const auto excess = find_toml_excess(text);
  return excess ? std::to_string(excess->line) + ":" + std::to_string(excess->column) + ": " + excess->what : "";
}

}  // namespace

TEST_CASE("a run file with a key of 100,000 parts is refused with its location") {
  const std::string parts = repeat("a.", 99'999) + "a";
  CHECK(contains(error_of(parts + " = 1\n"), std::string("digits.toml:1:64: ") + kKeyExcess));
  CHECK(contains(error_of("# ü\n[" + parts + "]\n"), std::string("digits.toml:2:65: ") + kKeyExcess));
  CHECK(contains(error_of("[[" + parts + "]]\n"), std::string("digits.toml:1:66: ") + kKeyExcess));
  CHECK(contains(error_of("ü = { " + parts + " = 1 }\n"), std::string("digits.toml:1:70: ") + kKeyExcess));
  CHECK(contains(error_of(repeat("'a' . ", 99'999) + "a = 1\n"), kKeyExcess));
}

TEST_CASE("a run file with 100,000 nested lists or tables is refused with its location") {
  CHECK(contains(error_of("a = " + repeat("[", 100'000) + repeat("]", 100'000) + "\n"),
                 std::string("digits.toml:1:37: ") + kNestingExcess));
  CHECK(contains(error_of("a = " + repeat("{a=", 100'000) + "1" + repeat("}", 100'000) + "\n"), kNestingExcess));
  CHECK(contains(error_of("a = " + repeat("[\n", 100'000)), std::string("digits.toml:33:1: ") + kNestingExcess));
}

TEST_CASE("32 parts and 32 levels are within the limits") {
  CHECK(excess_of(repeat("a.", 31) + "a = 1\n") == "");
  CHECK(excess_of(repeat("a.", 32) + "a = 1\n") == std::string("1:64: ") + kKeyExcess);
  CHECK(excess_of("a = " + repeat("[", 32) + repeat("]", 32) + "\n") == "");
  CHECK(excess_of("a = " + repeat("[", 33) + repeat("]", 33) + "\n") == std::string("1:37: ") + kNestingExcess);
}

TEST_CASE("dots and brackets in strings, comments and separate values do not count") {
  const std::string dots = repeat(".", 100), brackets = repeat("[{", 100);
  CHECK(excess_of("# " + dots + brackets + "\n") == "");
  for (const std::string quotes : {"\"", "'", "\"\"\"", "'''"}) {
    CAPTURE(quotes);
    CHECK(excess_of("a = " + quotes + dots + brackets + quotes + "\n") == "");
    CHECK(contains(excess_of("a = " + quotes + "x" + quotes + "\nb = " + brackets), kNestingExcess));
  }
  CHECK(excess_of("a = \"\\\"" + brackets + "\"\n") == "");
  CHECK(excess_of("a = \"\"\"\n" + brackets + "\n\"\"\"\n") == "");
  CHECK(excess_of("a = [" + repeat("1.5, ", 100) + "]\n") == "");
  CHECK(excess_of(repeat("a.b = 1.5\n", 100)) == "");
  CHECK(excess_of(repeat("[[loss]]\n", 100)) == "");
}

TEST_CASE("the end of a string is found as TOML defines it") {
  const std::string brackets = repeat("[", 33);
  CHECK(contains(excess_of("a = [\"\"\"x\"\"\"\"\", " + brackets), kNestingExcess));  // two quotes, then three
  CHECK(contains(excess_of("a = [\"\", " + brackets), kNestingExcess));
  CHECK(contains(excess_of("a = [\"\\\\\", " + brackets), kNestingExcess));
  CHECK(contains(excess_of("a = ['\\', " + brackets), kNestingExcess));
}

TEST_CASE("a run file of more than 1 MiB is refused before it is read") {
  const auto file = write_run_file("");
  std::filesystem::resize_file(file, uintmax_t{1} << 40);  // sparse
  std::string message;
  try {
    read_plan(file);
  } catch (const std::exception& error) {
    message = error.what();
  }
  CHECK(contains(message,
                 "digits.toml: has 1099511627776 bytes; expected a run file (TOML) of at most 1048576 bytes; check the "
                 "path"));
  std::filesystem::remove(file);  // a copy that is not sparse would fill the disk
}

// With a search of the line for each value, these would take hours.
TEST_CASE("the time to read a run file is proportional to its size") {
  const std::string many = "a = [" + repeat("1,", kMostTomlBytes / 2 - 8) + "]\n";
  CHECK(contains(error_of(many), "digits.toml:1:1: a is not a key of the run file"));
  const std::string wide =
      "a = [" + repeat("ü", kMostTomlBytes / 4).insert(0, "'") + "'" + repeat(",[]", kMostTomlBytes / 8) + "]\n";
  CHECK(contains(error_of(wide), "digits.toml:1:1: a is not a key of the run file"));
}

TEST_CASE("--set has the same limits") {
  const std::string parts = repeat("a.", 50'000) + "a";
  CHECK(error_of(kShortRunFile, {parts + "=1"}) == "--set " + parts + ": " + kKeyExcess);
  CHECK(error_of(kShortRunFile, {"run.name=" + repeat("[", 50'000)}) ==
        std::string("--set run.name: ") + kNestingExcess);
  CHECK(error_of(kShortRunFile, {"run={" + parts + "=1}"}) == std::string("--set run: ") + kKeyExcess);
}

TEST_CASE("more operator threads than the machine can use are refused") {
  const int64_t cores = count_usable_cores();
  const int64_t most = std::max<int64_t>(4 * cores, 32);
  CHECK(plan_of(kShortRunFile, {"run.threads=" + std::to_string(most)}).run.threads == most);
  CHECK(error_of(kShortRunFile, {"run.threads=" + std::to_string(most + 1)}) ==
        "--set run.threads: run.threads is " + std::to_string(most + 1) + ", but this process can use " +
            std::to_string(cores) + (cores == 1 ? " core" : " cores") + "; expected an integer in [0, " +
            std::to_string(most) + "]; set it to 0 for one thread per core");
}

}  // namespace tenon::config
