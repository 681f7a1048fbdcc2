// The git commit of the working directory.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace tenon::artifacts {

struct GitState {
  std::string commit;         // hexadecimal
  std::optional<bool> dirty;  // a tracked file differs from the commit; none: git timed out
};

// Runs `git` without a shell, with a timeout of a few seconds. None if there is no git, no repository, no commit yet,
// or a repository that git distrusts. Untracked files do not make the state dirty, as in `git describe --dirty`,
// because the run folder is often untracked.
std::optional<GitState> read_git_state(const std::filesystem::path& directory);

}  // namespace tenon::artifacts
