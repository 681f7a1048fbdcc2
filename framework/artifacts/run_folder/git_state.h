// The git commit of a folder and the changes since then.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tenon::artifacts {

struct GitState {
  std::string commit;         // hexadecimal
  std::optional<bool> dirty;  // a tracked file differs from the commit; none: git timed out
  // Set by keep_changes().
  std::string patch = {};                                  // file in the run folder; empty: none
  std::optional<std::vector<std::string>> untracked = {};  // files and folders; none: unknown
};

// Runs `git` without a shell, with a timeout of a few seconds. None if there is no git, no repository, no commit yet,
// or a repository that git distrusts. Untracked files do not make the state dirty, as in `git describe --dirty`,
// because the run folder is often untracked.
std::optional<GitState> read_git_state(const std::filesystem::path& directory);

inline constexpr size_t kMaxPatchBytes = size_t{8} << 20;
inline constexpr size_t kMaxUntracked = 1000;

// Keeps the changes in the repository of `directory` with a run. Takes at most a few seconds.
// - Sets `untracked`: files that git neither tracks nor ignores, relative to the top of the repository, at most
//   kMaxUntracked. A folder with untracked files only is one name that ends in "/". Names in `output_dir` are left out.
// - If the state is dirty, writes git.patch in the run folder and sets `patch`. `git apply git.patch` at the top of a
//   clean clone restores all tracked files, also staged and binary ones. A run that resumes with other changes keeps
//   the earlier file, and the new one is git-2.patch, git-3.patch, and so on.
// Logs a warning if the patch has more than kMaxPatchBytes, git is too slow or the file cannot be written.
void keep_changes(GitState& state, const std::filesystem::path& directory, const std::filesystem::path& run_folder,
                  const std::filesystem::path& output_dir);

// Runs a program in PATH and returns the first `limit` bytes of its standard output. Its standard input is empty, and
// its standard error is discarded. `settings` ("NAME=value") override the environment. None if the program cannot be
// started, does not exit with status 0, or exceeds the timeout. In the last case it is killed.
std::optional<std::string> read_program_output(const std::vector<std::string>& command,
                                               const std::vector<std::string>& settings,
                                               std::chrono::milliseconds timeout, size_t limit = size_t{64} << 10);

}  // namespace tenon::artifacts
