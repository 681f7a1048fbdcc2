// Paths that the system refuses: symbolic links that lead back to themselves, and names that are too long or empty.
#include <doctest/doctest.h>

#include <filesystem>
#include <functional>

#include "framework/support/text/printable.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/test_folder.h"

namespace wrong_paths_test {

using namespace tenon::end_to_end;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

namespace {

constexpr const char* kConfig = TENON_SOURCE_DIR "/configs/digits_mlp.toml";

// A path, and the reason that the answers contain.
struct WrongPath {
  std::string path;
  std::string reason;
};

std::vector<WrongPath> make_wrong_paths() {
  const fs::path loop = tenon::test_folder() / "loop";
  fs::remove(loop);
  fs::create_symlink("loop", loop);
  return {{loop.string(), "Too many levels of symbolic links"},
          {std::string(300, 'n'), "File name too long"},
          {std::string(6000, 'm'), "File name too long"},
          {"", ""}};
}

Outcome check_answer(const Words& arguments, int exit_code, const std::string& prefix = "") {
  Outcome outcome = run_host(arguments, prefix);
  CAPTURE(arguments.front());
  CAPTURE(outcome.errors);
  CHECK(outcome.exit_code == exit_code);
  CHECK(outcome.errors.starts_with("error: "));
  for (const char* const words : {"internal error", "filesystem error", "system refused"})
    CHECK(outcome.errors.find(words) == std::string::npos);
  return outcome;
}

// A command with a path among its words.
struct Command {
  std::function<Words(const std::string& path)> words;
  int exit_code;
  std::string expected;  // in the message
};

// Starts the host once for each command and path.
void check_commands(const std::vector<Command>& commands) {
  for (const WrongPath& wrong : make_wrong_paths())
    for (const Command& command : commands) {
      const Outcome outcome = check_answer(command.words(wrong.path), command.exit_code);
      CAPTURE(wrong.path.substr(0, 100));
      CAPTURE(outcome.errors);
      const std::string shown = wrong.path.empty() ? "\"\"" : tenon::support::printable(wrong.path);
      CHECK(outcome.errors.find(shown) != std::string::npos);
      CHECK(outcome.errors.find(wrong.reason) != std::string::npos);
      CHECK(outcome.errors.find(command.expected) != std::string::npos);
    }
}

Words train(const Words& more) { return joined({"--config", kConfig, "--check"}, more); }

std::string set(const std::string& key, const std::string& path) { return key + "=\"" + path + "\""; }

}  // namespace

TEST_CASE("a command names a path that the system refuses, with the reason and what it expects") {
  check_commands({
      {[](const std::string& path) {
         return Words{"runs", path};
       },
       2, "expected a folder with runs"},
      {[](const std::string& path) {
         return Words{"report", path};
       },
       5, "expected the folder of a run"},
      {[](const std::string& path) {
         return Words{"checkpoint", "verify", path};
       },
       5, "expected the folder of a"},
      {[](const std::string& path) {
         return Words{"validate", path};
       },
       3, "expected a plugin file"},
      {[](const std::string& path) {
         return Words{"plugins", "--plugin-dir", path};
       },
       3, "expected a directory of"},
  });
}

TEST_CASE("every command names a path that the system refuses" * doctest::test_suite("soak") * doctest::skip()) {
  check_commands({
      {[](const std::string& path) {
         return Words{"checkpoint", "show", path};
       },
       5, "expected the folder of a"},
      {[](const std::string& path) {
         return Words{"checkpoint", "diff", path, path};
       },
       5, "expected the folder of a"},
      {[](const std::string& path) {
         return Words{"note", path};
       },
       3, "expected a whole shared library"},
      {[](const std::string& path) {
         return Words{"schema", "--plugin-dir", path};
       },
       3, "expected a directory of"},
      {[](const std::string& path) {
         return Words{"describe", "mlp", "--plugin-dir", path};
       },
       3, "expected a directory"},
      {[](const std::string& path) {
         return train({"--plugin-dir", path});
       },
       3, "expected a directory of"},
      {[](const std::string& path) {
         return Words{"--config", path};
       },
       2, "expected a run file"},
      {[](const std::string& path) {
         return Words{"evaluate", "--config", kConfig, "--checkpoint", path};
       },
       5, "expected \"latest\""},
  });
}

TEST_CASE("a mistyped run file is refused with the nearest file") {
  const std::string configs = TENON_SOURCE_DIR "/configs/";
  const Outcome outcome = check_answer({"--config", configs + "digts.toml"}, 2);
  CHECK(outcome.errors == "error: " + configs +
                              "digts.toml: cannot be read: No such file or directory; expected a run " +
                              "file (TOML); did you mean " + configs + "digits.toml?\n");
}

TEST_CASE("a run names a folder of its run file that the system refuses") {
  for (const WrongPath& wrong : make_wrong_paths()) {
    if (wrong.path.empty()) continue;  // an empty value is refused by the schema
    Words words = train({"--set", set("run.output_dir", wrong.path)});
    std::erase(words, "--check");
    const Outcome outcome = check_answer(words, 2);
    const std::string shown = tenon::support::printable(wrong.path);
    CHECK(outcome.errors.find(shown + (wrong.path.size() < 300 ? "/digits_mlp" : "")) != std::string::npos);
    CHECK(outcome.errors.find(": cannot be created: " + wrong.reason) != std::string::npos);
  }
}

TEST_CASE("compare names an output folder that the system refuses, before it starts a run") {
  const WrongPath loop = make_wrong_paths().front();
  const Outcome outcome = check_answer({"compare", kConfig, "--output", loop.path}, 2);
  CAPTURE(outcome.errors);
  CHECK(outcome.errors.find(loop.path + ": cannot be created: " + loop.reason) != std::string::npos);
}

TEST_CASE("a plugin file that is a symbolic link to itself is refused with its path") {
  const fs::path folder = make_empty_folder("plugins");
  const fs::path loop = folder / "mlp.so";
  fs::create_symlink("mlp.so", loop);
  fs::create_symlink("nowhere", folder / "gone.so");
  const std::string refused = loop.string() + ": cannot be read: Too many levels of symbolic links; expected a whole";
  const Outcome listed = run_host({"plugins", "--plugin-dir", folder.string()});
  CAPTURE(listed.output);
  CHECK(listed.exit_code == 3);
  CHECK(listed.output.find("refused: " + refused) != std::string::npos);
  CHECK(listed.output.find("gone.so: cannot be read: No such file or directory") != std::string::npos);
  fs::remove(folder / "gone.so");
  const Outcome outcome = check_answer(train({"--plugin-dir", folder.string()}), 3);
  CHECK(outcome.errors.find("error: " + refused) == 0);
}

TEST_CASE("a folder for temporary files that the system refuses is named") {
  const WrongPath loop = make_wrong_paths().front();
  const Outcome outcome = check_answer({"--config", kConfig, "--dry-run"}, 11, "env TMPDIR=" + loop.path);
  CHECK(outcome.errors.find(loop.path + ": cannot be used for temporary files (set TMPDIR to a folder)") !=
        std::string::npos);
}

}  // namespace wrong_paths_test
