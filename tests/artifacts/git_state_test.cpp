#include "framework/artifacts/run_folder/git_state.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "framework/artifacts/run_folder/program_output.h"
#include "scratch.h"

namespace tenon::artifacts {

namespace {

// Sets an environment variable during its lifetime. Null removes the variable.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Setting() { set(before_ ? before_->c_str() : nullptr); }

 private:
  void set(const char* value) const { value ? ::setenv(name_, value, 1) : ::unsetenv(name_); }
  const char* name_;
  std::optional<std::string> before_;
};

// A repository that is isolated from the user's settings and from parent repositories.
struct Repository {
  Scratch scratch;
  Setting global{"GIT_CONFIG_GLOBAL", "/dev/null"};
  Setting system{"GIT_CONFIG_NOSYSTEM", "1"};
  Setting folder{"GIT_DIR", nullptr};
  Setting ceiling{"GIT_CEILING_DIRECTORIES", scratch.path().parent_path().c_str()};

  std::string git(std::vector<std::string> question) const {
    std::vector<std::string> command = {"git",         "-C", scratch.path().string(),   "-c",
                                        "user.name=A", "-c", "user.email=a@example.org"};
    command.insert(command.end(), question.begin(), question.end());
    const auto answer = read_program_output(command, {}, std::chrono::seconds(20));
    REQUIRE_MESSAGE(answer.has_value(), "git " << question.front());
    return *answer;
  }
  void commit_a_file() const {
    git({"init", "-q"});
    write_all(scratch / "a", "1");
    git({"add", "a"});
    git({"commit", "-q", "-m", "One"});
  }
};

}  // namespace

TEST_CASE("a clean repository has its commit and is not dirty") {
  const Repository repository;
  repository.commit_a_file();
  const auto state = read_git_state(repository.scratch.path());
  REQUIRE(state);
  CHECK(state->commit + "\n" == repository.git({"rev-parse", "HEAD"}));
  CHECK(state->dirty == false);
}

TEST_CASE("a changed file makes a repository dirty and an untracked file does not") {
  const Repository repository;
  repository.commit_a_file();
  write_all(repository.scratch / "new", "1");
  CHECK(read_git_state(repository.scratch.path()).value().dirty == false);
  write_all(repository.scratch / "a", "two");
  CHECK(read_git_state(repository.scratch.path()).value().dirty == true);
  repository.git({"add", "a"});
  CHECK(read_git_state(repository.scratch.path()).value().dirty == true);
}

TEST_CASE("no repository, a repository without a commit and a missing folder have no state") {
  const Repository repository;
  CHECK_FALSE(read_git_state(repository.scratch.path()));
  CHECK_FALSE(read_git_state(repository.scratch / "missing"));
  repository.git({"init", "-q"});
  CHECK_FALSE(read_git_state(repository.scratch.path()));
}

TEST_CASE("without git there is no state") {
  const Repository repository;
  repository.commit_a_file();
  const Setting path("PATH", "/nowhere");
  CHECK_FALSE(read_git_state(repository.scratch.path()));
}

TEST_CASE("a git that never exits is killed") {
  const Repository repository;
  const auto start = std::chrono::steady_clock::now();
  CHECK_FALSE(read_program_output({"sleep", "60"}, {}, std::chrono::milliseconds(200)));
  // The output stays open in a child process of the program.
  CHECK_FALSE(read_program_output({"sh", "-c", "sleep 60 & echo a"}, {}, std::chrono::milliseconds(200)));
  // The output is closed, but the program continues.
  CHECK_FALSE(read_program_output({"sh", "-c", "exec >&-; sleep 60"}, {}, std::chrono::milliseconds(200)));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
}

TEST_CASE("a program has empty input, and its output, status and settings are passed") {
  const auto run = [](const std::string& script, const std::vector<std::string>& settings = {}) {
    return read_program_output({"sh", "-c", script}, settings, std::chrono::seconds(20));
  };
  CHECK(run("cat; echo done") == "done\n");
  CHECK(run("echo a; exit 3") == std::nullopt);
  CHECK(run("kill -9 $$") == std::nullopt);
  CHECK(run("echo wrong >&2; echo right") == "right\n");
  CHECK(run("echo $TENON_A", {"TENON_A=b c"}) == "b c\n");
  CHECK(run("head -c 300000 /dev/zero").value().size() == 65536);
  CHECK(read_program_output({"tenon-no-such-program"}, {}, std::chrono::seconds(20)) == std::nullopt);
  const Setting setting("TENON_A", "outer");
  CHECK(run("echo $TENON_A", {"TENON_A=inner"}) == "inner\n");
}

}  // namespace tenon::artifacts
