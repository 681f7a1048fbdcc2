#include <doctest/doctest.h>

#include "tests/end_to_end/hosted_run.h"

namespace wrong_command_line_test {

using namespace tenon::end_to_end;

namespace {

void check_refused(const std::vector<std::string>& arguments, const std::string& message) {
  check_errors(run_host(arguments), 2, {message});
}

}  // namespace

TEST_CASE("errors on the command line end with code 2 and a suggestion") {
  // Without any word, the commands are listed.
  const Outcome alone = require_success(run_host({}));
  CHECK(alone.output.find("\nBefore a run:\n") != std::string::npos);
  check_refused({"--confg", "run.toml"}, "unknown option --confg; did you mean \"--config\"?");
  check_refused({TENON_SOURCE_DIR "/configs"}, "/configs\", a folder; expected host --config FILE");
  check_refused({"nowhere.toml"}, "nowhere.toml: cannot be read");
  check_refused({"train"}, "command line: --config is missing; expected host --config FILE");
  check_refused({"trian"}, "command line: \"trian\" is not a command; did you mean host train?; expected a command or");
  check_refused({"descibe", "mlp"}, "command line: \"descibe\" is not a command; did you mean host describe?");
  check_refused({"--config", "run.toml", "train.epochs=3"},
                "unexpected argument \"train.epochs=3\"; did you mean --set train.epochs=3?");
  check_refused({"--check", "--", "--config"}, "unexpected argument \"--config\"; expected host --config FILE");
  check_refused({"--config", "run.toml", "more.toml"}, "unexpected argument \"more.toml\"; expected host");
  check_refused({"--config"}, "command line: --config has no value; expected --config FILE, see host --help");
  check_refused({"--check=now"}, "command line: --check has a value; expected --check alone");
  check_refused({"--config", "a.toml", "--config", "b.toml"}, "command line: --config is given more than once");
  check_refused({"evalute", "run.toml", "--checkpoint", "best"}, "did you mean host evaluate?");
  check_refused({"fit", "run.toml"}, "\"fit\" is not a command; did you mean host train?");
  check_refused({"descibe", "--help"}, "\"descibe\" is not a command; did you mean host describe?");
  check_refused({"--config", "run.toml", "--set", "train.epochs", "3"},
                "unexpected argument \"3\"; did you mean --set train.epochs=3?");
  check_refused({"--config", "run.toml", "--epochs", "3"},
                "unknown option --epochs; did you mean --set train.epochs=3?");
  check_refused({"-v"}, "unknown option -v; did you mean \"--verbose\"?");
  check_refused({"--config", "nowhere.toml"}, "nowhere.toml");
  check_refused({"--conf", "run.toml"}, "unknown option");
}

TEST_CASE("help of a command describes this command, and that of a first word all commands with it") {
  const Outcome evaluate = run_host({"help", "evaluate"});
  CHECK(evaluate.output.find("Usage: host evaluate") == 0);
  CHECK(evaluate.output.find("--tta") != std::string::npos);
  const Outcome checkpoint = require_success(run_host({"checkpoint", "--help"}));
  for (const char* usage :
       {"Usage: host checkpoint show", "Usage: host checkpoint verify", "Usage: host checkpoint diff"})
    CHECK(checkpoint.output.find(usage) != std::string::npos);
}

TEST_CASE("--help and --version need no other options") {
  const Outcome help = require_success(run_host({"--help"}));
  for (const char* option : {"--config", "--set", "--check", "--plugin-dir", "--help", "--version"})
    CHECK(help.output.find(option) != std::string::npos);
  const Outcome version = require_success(run_host({"--version"}));
  CHECK(version.output.find("tenon ") == 0);
  CHECK(version.output.find("libtorch 2.") != std::string::npos);
}

}  // namespace wrong_command_line_test
