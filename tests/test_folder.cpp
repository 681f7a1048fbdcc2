#include "tests/test_folder.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tenon {

namespace fs = std::filesystem;

fs::path build_folder() {
  const char* const moved = std::getenv("TENON_TEST_BUILD");
  return moved && *moved ? moved : TENON_BINARY_DIR;
}

namespace {

fs::path folder;

uint32_t hash(std::string_view text) {  // FNV-1a
  uint32_t value = 2166136261u;
  for (const char letter : text) value = (value ^ static_cast<unsigned char>(letter)) * 16777619u;
  return value;
}

// Uses only digits. Case names contain words that tests search for in messages, and they are too long for socket paths.
std::string folder_name(const std::string& file, const std::string& case_name) {
  char digits[16];
  std::snprintf(digits, sizeof digits, "%08x", hash(fs::path(file).filename().string() + '\n' + case_name));
  return digits;
}

std::string program_name() {
  const std::string name = fs::read_symlink("/proc/self/exe").filename().string();
  const std::string prefix = "test_";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

struct FolderOfEachCase final : doctest::IReporter {
  explicit FolderOfEachCase(const doctest::ContextOptions&) {}

  void test_case_start(const doctest::TestCaseData& started) override {
    folder = build_folder() / "tests/written" / program_name() / folder_name(started.m_file.c_str(), started.m_name);
    fs::remove_all(folder);
    fs::create_directories(folder);
    fs::current_path(folder);
  }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats& ended) override {
    if (!ended.testCaseSuccess) std::fprintf(stderr, "The test case wrote to %s\n", folder.c_str());
  }
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};

REGISTER_LISTENER("folder_of_each_case", 1, FolderOfEachCase);

}  // namespace

const fs::path& test_folder() {
  if (folder.empty()) throw std::logic_error("test_folder() is called outside of a test case");
  return folder;
}

}  // namespace tenon
