// Runs the host with files of tests/fixtures/wrong_configs. wrong_configs_test.cpp tests all of them in one process.
#include <doctest/doctest.h>

#include <sstream>

#include "tests/end_to_end/hosted_run.h"

namespace wrong_config_test {

namespace fs = std::filesystem;
using namespace tenon::end_to_end;

namespace {

const fs::path kFolder = TENON_SOURCE_DIR "/tests/fixtures/wrong_configs";

void check_refused(const fs::path& file) {
  const Outcome outcome = run_host({"--config", file.string(), "--check"});
  CAPTURE(file.filename().string());
  CAPTURE(outcome.errors);
  CHECK(outcome.exit_code == 2);
  std::istringstream lines(read_file(file));
  const std::string marker = "# expect: ";
  for (std::string line; std::getline(lines, line) && line.starts_with(marker);)
    CHECK(outcome.errors.find(line.substr(marker.size())) != std::string::npos);
}

}  // namespace

TEST_CASE("a wrong run file ends with code 2 and the expected message") {
  for (const char* name : {"bare_word", "dataset_param_missing", "distributed_processes_zero", "key_twice",
                           "loss_input_without_field", "model_unknown", "optimizer_key_misspelt",
                           "plugins_digest_too_short", "run_device_unknown", "validation_every_without_data"})
    check_refused(kFolder / (name + std::string(".toml")));
}

TEST_CASE("every wrong run file ends with code 2 and the expected message" * doctest::test_suite("soak") *
          doctest::skip()) {
  for (const fs::directory_entry& entry : fs::directory_iterator(kFolder))
    if (entry.path().extension() == ".toml") check_refused(entry.path());
}

}  // namespace wrong_config_test
