// Folders that are there whole or not at all, and the small changes around them: see durable_file.h for the promise.
#pragma once

#include <filesystem>

#include "framework/support/error.h"

namespace tenon::artifacts {

// A folder filled under a temporary name. Functions throw Error of the kind given, with the path and the system's
// reason.
class DurableFolder {
 public:
  // Makes the temporary folder beside `path`, whose own parent must exist.
  DurableFolder(std::filesystem::path path, support::ErrorKind kind);
  DurableFolder(const DurableFolder&) = delete;
  DurableFolder& operator=(const DurableFolder&) = delete;
  ~DurableFolder();  // without commit(): removes the temporary folder with what is in it

  // Where the files are to be written until commit().
  const std::filesystem::path& temporary() const { return temporary_; }

  // Syncs every file in it and puts the folder under its name. A folder of that name is exchanged for the new one in
  // one step and then removed; where the file system cannot exchange (NFS), that is an error and the earlier folder
  // stays.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty once renamed
  support::ErrorKind kind_;
};

// Makes the folder and those above it that are missing, durably. An existing one is no error.
void make_folders_durably(const std::filesystem::path& path, support::ErrorKind kind);

// Makes a symbolic link, or replaces the one there, in one step.
void replace_link_durably(const std::filesystem::path& link, const std::filesystem::path& target,
                          support::ErrorKind kind);

// Removes a folder so that a crash leaves it whole or leaves nothing under its name.
void remove_folder_durably(const std::filesystem::path& path, support::ErrorKind kind);

// Removes what crashed processes left in the folder under temporary names. REQUIRES: nobody is writing to it.
void remove_leftovers(const std::filesystem::path& folder, support::ErrorKind kind);

}  // namespace tenon::artifacts
