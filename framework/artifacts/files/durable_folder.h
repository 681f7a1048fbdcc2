// Atomic, durable creation of folders and related operations, with the guarantees of durable_file.h.
#pragma once

#include <filesystem>

#include "framework/support/diagnostics/error.h"

namespace tenon::artifacts {

// A folder that is filled under a temporary name. Functions throw an Error of the given kind, with the path and the
// reason of the system.
class DurableFolder {
 public:
  // Creates the temporary folder next to `path`. The parent folder must exist.
  DurableFolder(std::filesystem::path path, support::ErrorKind kind);
  DurableFolder(const DurableFolder&) = delete;
  DurableFolder& operator=(const DurableFolder&) = delete;
  ~DurableFolder();  // removes the temporary folder and its content, unless committed

  // The folder for the files until commit().
  const std::filesystem::path& temporary() const { return temporary_; }

  // Syncs every file and renames the folder to its final name. An existing folder is exchanged for the new one in one
  // step and then removed. If the file system cannot exchange folders (NFS), commit() fails and the earlier folder is
  // unchanged.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty once renamed
  support::ErrorKind kind_;
};

// Creates the folder and its missing parents durably. An existing folder is not an error.
void make_folders_durably(const std::filesystem::path& path, support::ErrorKind kind);

// Creates or replaces a symbolic link in one step.
void replace_link_durably(const std::filesystem::path& link, const std::filesystem::path& target,
                          support::ErrorKind kind);

// Removes a folder atomically: after a crash, the name has the complete folder or nothing.
void remove_folder_durably(const std::filesystem::path& path, support::ErrorKind kind);

// Removes temporary files of crashed processes from the folder. REQUIRES: no process writes to the folder.
void remove_leftovers(const std::filesystem::path& folder, support::ErrorKind kind);

}  // namespace tenon::artifacts
