// Which commit the working directory is at.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace tenon::artifacts {

struct GitState {
  std::string commit;         // hexadecimal
  std::optional<bool> dirty;  // a tracked file differs from the commit; none: git did not say in time
};

// Asks `git`, without a shell, for at most a few seconds. None if there is no git, no repository, no commit yet, or a
// repository that git distrusts. Files that git does not track do not make it dirty, as in `git describe --dirty`: a
// run's own folder is often among them.
std::optional<GitState> read_git_state(const std::filesystem::path& directory);

}  // namespace tenon::artifacts
