// The names `latest` and `best` in the checkpoints/ of a run. Each is a symbolic link to a checkpoint. On a file system
// without symbolic links (exFAT, some network drives) it is a file with the name of the checkpoint's folder. In a copy
// of a run that follows links (scp -r, cp -rL, zip) it is a folder: a copy of the checkpoint.
#pragma once

#include <filesystem>
#include <map>
#include <optional>

namespace tenon::artifacts {

inline constexpr const char* kLatest = "latest";
inline constexpr const char* kBest = "best";

// Points the link to a checkpoint in the same folder. On a file system without symbolic links writes a file instead,
// and logs a warning, once in a process. Throws Error(checkpoint).
void link_checkpoint(const std::filesystem::path& link, const std::filesystem::path& checkpoint);

// Returns the checkpoint that `latest` or `best` in the checkpoints/ of a run names. None if the name does not exist.
// Throws Error(checkpoint) if it names no checkpoint.
std::optional<std::filesystem::path> find_linked_checkpoint(const std::filesystem::path& checkpoints, const char* link);

// Returns the path with each file `latest` and `best` in a folder checkpoints/ on it, and each copied checkpoint with
// this name, replaced by the checkpoint in the same folder that it stands for. Keeps symbolic links.
std::filesystem::path replace_checkpoint_names(const std::filesystem::path& path);

// In the checkpoints/ of a run to resume, gives a copied checkpoint with the name of a link the name of its original,
// if the original is missing or damaged. Returns the new path of each such copy, by the path that it had. Errors are
// warnings.
std::map<std::filesystem::path, std::filesystem::path> restore_copied_checkpoints(
    const std::filesystem::path& checkpoints);

// The same, and removes the other copies of checkpoints that have the names of links. Throws Error(checkpoint) if a
// folder with such a name cannot be removed or is not a checkpoint.
void remove_copied_checkpoints(const std::filesystem::path& checkpoints);

}  // namespace tenon::artifacts
