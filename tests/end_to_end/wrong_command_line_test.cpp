#include <doctest/doctest.h>

#include "tests/end_to_end/hosted_run.h"

using namespace tenon::end_to_end;

namespace {

void check_refused(const std::vector<std::string>& arguments, const std::string& message) {
  const Outcome outcome = run_host(arguments);
  CAPTURE(outcome.errors);
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.errors.find(message) != std::string::npos);
}

}  // namespace

TEST_CASE("errors on the command line end with code 2 and a suggestion") {
  check_refused({}, "command line: --config is missing; expected host --config FILE");
  check_refused({"--confg", "run.toml"}, "unknown option --confg; did you mean \"--config\"?");
  check_refused({"configs"}, "command line: unexpected argument \"configs\"; did you mean --config configs?");
  check_refused({"nowhere.toml"}, "nowhere.toml: cannot be read");
  check_refused({"train"}, "command line: --config is missing; expected host --config FILE");
  check_refused({"trian"}, "unexpected argument \"trian\"; did you mean host train?");
  check_refused({"descibe", "mlp"}, "unexpected argument \"descibe\"; did you mean host describe?");
  check_refused({"--config", "run.toml", "train.epochs=3"},
                "unexpected argument \"train.epochs=3\"; did you mean --set train.epochs=3?");
  check_refused({"--check", "--", "--config"}, "unexpected argument \"--config\"; expected host --config FILE");
  check_refused({"--config", "run.toml", "more.toml"}, "unexpected argument \"more.toml\"; expected host");
  check_refused({"--config"}, "command line: ");
  check_refused({"--config", "nowhere.toml"}, "nowhere.toml");
  check_refused({"--conf", "run.toml"}, "unknown option");
}

TEST_CASE("--help and --version need no other options") {
  const Outcome help = run_host({"--help"});
  CHECK(help.exit_code == 0);
  for (const char* option : {"--config", "--set", "--check", "--plugin-dir", "--help", "--version"})
    CHECK(help.output.find(option) != std::string::npos);
  const Outcome version = run_host({"--version"});
  CHECK(version.exit_code == 0);
  CHECK(version.output.find("tenon ") == 0);
  CHECK(version.output.find("libtorch 2.") != std::string::npos);
}
