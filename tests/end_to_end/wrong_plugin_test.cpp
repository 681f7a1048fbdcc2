#include <doctest/doctest.h>

#include "tests/end_to_end/hosted_run.h"

using namespace tenon::end_to_end;

namespace {

std::string fixture_directory(const std::string& name) { return TENON_BINARY_DIR "/tests/fixtures/plugins/" + name; }

Outcome train_with(const std::string& fixture, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"--config",     TENON_SOURCE_DIR "/configs/digits.toml",
                                     "--plugin-dir", fixture_directory(fixture),
                                     "--set",        "run.output_dir=\"" + make_empty_folder("runs").string() + "\""};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_host(arguments);
}

}  // namespace

TEST_CASE("a wrong plugin in a directory ends with code 3 and its file") {
  for (const char* fixture :
       {"missing_entry", "wrong_version", "wrong_torch", "open_fails", "open_throws", "null_plugin", "short_plugin",
        "short_table", "null_function", "unknown_kind", "empty_id", "bad_utf8_id", "duplicate_digits",
        "duplicate_param", "bad_schema_default", "bad_schema_range"}) {
    CAPTURE(fixture);
    const Outcome outcome = train_with(fixture);
    CHECK(outcome.exit_code == 3);
    CHECK(outcome.errors.find(std::string(fixture) + ".so") != std::string::npos);
  }
}

TEST_CASE("a plugin that fails in create or get ends the run with its component and function") {
  const auto failing = [](const char* fixture) {
    return train_with(fixture, {"--set", "data.train={use=\"fixture\"}"});
  };
  CHECK(failing("failing_create").exit_code == 3);
  CHECK(failing("throwing_create").exit_code == 3);
  CHECK(failing("throwing_create").errors.find("let escape an exception") != std::string::npos);
}

TEST_CASE("a --plugin-dir that is not there ends with code 3") {
  const Outcome outcome = run_host({"--config", TENON_SOURCE_DIR "/configs/digits.toml", "--plugin-dir", "nowhere"});
  CHECK(outcome.exit_code == 3);
  CHECK(outcome.errors.find("--plugin-dir: nowhere does not exist") != std::string::npos);
}
