#include "framework/artifacts/run_folder/git_state.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

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

TEST_CASE("the patch of a dirty tree turns a clean clone into the same tree") {
  const Repository repository;
  const auto& tree = repository.scratch;
  std::string bytes(3000, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 % 256);
  repository.git({"init", "-q"});
  std::filesystem::create_directory(tree / "sub");
  write_all(tree / "sub/text", "1\n2\n3\n4\n5\n6\n7\n8\n");
  write_all(tree / "deleted", "gone\n");
  write_all(tree / "renamed", "the same content\n");
  write_all(tree / "image.png", bytes);
  write_all(tree / "script", "#!/bin/sh\n");
  repository.git({"add", "-A"});
  repository.git({"commit", "-q", "-m", "One"});
  const std::filesystem::path clone = tree.path().string() + "-clone";
  repository.git({"clone", "-q", ".", clone.string()});

  write_all(tree / "sub/text", "1\n2\n3\nfour\n5\n6\n7\n8 without a line break");
  std::filesystem::remove(tree / "deleted");
  std::filesystem::rename(tree / "renamed", tree / "a n\xC3\xA4me \"quoted\"");
  bytes[10] = 'x';
  write_all(tree / "image.png", bytes + bytes);
  std::filesystem::permissions(tree / "script", std::filesystem::perms::all);
  std::filesystem::create_symlink("script", tree / "link");
  repository.git({"add", "-A"});
  write_all(tree / "sub/text", "1\n2\n3\nfour\n5\n6\n7\nchanged again, not staged");
  // Settings of a user that change what `git diff` prints.
  for (const char* setting : {"diff.noprefix=true", "color.diff=always", "diff.relative=true", "diff.context=0",
                              "diff.external=false", "diff.renames=copies", "core.quotePath=false"}) {
    const std::string text = setting;
    repository.git({"config", text.substr(0, text.find('=')), text.substr(text.find('=') + 1)});
  }
  const Scratch run;
  auto state = read_git_state(tree / "sub").value();
  keep_changes(state, tree / "sub", run.path(), run.path());
  REQUIRE(state.patch == "git.patch");
  CHECK(state.untracked == std::vector<std::string>{});

  repository.git({"-C", clone.string(), "apply", (run / "git.patch").string()});
  repository.git({"-C", clone.string(), "add", "-A"});
  repository.git({"add", "-A"});
  CHECK(repository.git({"-C", clone.string(), "write-tree"}) == repository.git({"write-tree"}));
  CHECK(repository.git({"diff", "--no-ext-diff", "HEAD", "--stat"}) != "");
  std::filesystem::remove_all(clone);
}

TEST_CASE("a run that resumes with other changes keeps the earlier patch") {
  const Repository repository;
  repository.commit_a_file();
  const Scratch run;
  const auto keep = [&](const std::string& text) {
    write_all(repository.scratch / "a", text);
    auto state = read_git_state(repository.scratch.path()).value();
    keep_changes(state, repository.scratch.path(), run.path(), run.path());
    return state.patch;
  };
  CHECK(keep("two") == "git.patch");
  CHECK(keep("two") == "git.patch");
  CHECK(keep("three") == "git-2.patch");
  CHECK(keep("three") == "git-2.patch");
  CHECK(contains(read_all(run / "git.patch"), "+two"));
  CHECK(contains(read_all(run / "git-2.patch"), "+three"));
  CHECK(keep("1") == "");  // as in the commit
  CHECK(list_names(run.path()) == std::set<std::string>{"git-2.patch", "git.patch"});
}

TEST_CASE("untracked files are listed without ignored ones, and an untracked folder as one name") {
  const Repository repository;
  repository.commit_a_file();
  const auto& tree = repository.scratch;
  for (const char* folder : {"photos", "runs", "empty", "ignored"}) std::filesystem::create_directory(tree / folder);
  write_all(tree / "photos/1.jpg", "1");
  write_all(tree / "photos/2.jpg", "2");
  write_all(tree / "runs/log.txt", "1");
  write_all(tree / "ignored/b", "1");
  write_all(tree / "new name", "1");
  write_all(tree / ".gitignore", "ignored\n");
  const Scratch run;
  auto state = read_git_state(tree.path()).value();
  keep_changes(state, tree.path(), run.path(), tree / "runs");
  CHECK(state.untracked == std::vector<std::string>{".gitignore", "new name", "photos/"});
  CHECK(state.patch == "");
  CHECK(list_names(run.path()).empty());
}

TEST_CASE("a patch that is too large is not kept") {
  const Repository repository;
  repository.commit_a_file();
  std::string lines;
  for (int i = 0; lines.size() <= kMaxPatchBytes; ++i) lines += std::to_string(i) + '\n';
  write_all(repository.scratch / "a", lines);
  const Scratch run;
  auto state = read_git_state(repository.scratch.path()).value();
  CHECK(state.dirty == true);
  keep_changes(state, repository.scratch.path(), run.path(), run.path());
  CHECK(state.patch == "");
  CHECK(list_names(run.path()).empty());
}

TEST_CASE("changes that cannot be written, and a missing repository, do not stop a run") {
  const Repository repository;
  repository.commit_a_file();
  write_all(repository.scratch / "a", "two");
  auto state = read_git_state(repository.scratch.path()).value();
  keep_changes(state, repository.scratch.path(), repository.scratch / "missing", repository.scratch / "missing");
  CHECK(state.patch == "");
  keep_changes(state, repository.scratch / "missing", repository.scratch.path(), repository.scratch.path());
  CHECK(state.patch == "");
  CHECK(list_names(repository.scratch.path()) == std::set<std::string>{".git", "a"});
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
