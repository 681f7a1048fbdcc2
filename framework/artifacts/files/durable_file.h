// Atomic, durable writes of files and folders. A file is written under a temporary name in the same folder, fsync-ed
// and renamed, and the folder is fsync-ed. If the process is killed at any moment, the name has the earlier file (or
// none) or the complete new file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

#include "framework/support/diagnostics/error.h"
#include "framework/support/files/file_descriptor.h"

namespace tenon::artifacts {

// The commit() that syncs a file: that of the file, or that of its DurableFolder, which syncs all files at once.
enum class SyncedBy { file, containing_folder };

// Every function throws an Error of the given kind, with the path and the reason of the system. The temporary file is
// then removed, and an earlier file with the final name is unchanged.
class DurableFile {
 public:
  // Opens a temporary file next to `path`. The folder must exist. In a durable folder, which is itself temporary, the
  // file has its final name from the start.
  DurableFile(std::filesystem::path path, support::ErrorKind kind, SyncedBy synced_by = SyncedBy::file);
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;
  ~DurableFile();  // removes the temporary file, unless committed

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  // Random access. REQUIRES: read_at() only reads bytes that were written.
  void write_at(uint64_t offset, std::span<const std::byte> bytes);
  void read_at(uint64_t offset, std::span<std::byte> bytes) const;
  void resize(uint64_t bytes);
  // Renames the file to its final name. After commit() returns, the file survives a power cut.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty once renamed
  support::ErrorKind kind_;
  SyncedBy synced_by_;
  support::FileDescriptor descriptor_;
};

void write_file_durably(const std::filesystem::path& path, std::string_view text, support::ErrorKind kind,
                        SyncedBy synced_by = SyncedBy::file);

// Writes all bytes, if necessary with several system calls. Returns 0 or an errno.
int write_fully(int descriptor, std::span<const std::byte> bytes);

// Syncs a file or the entries of a folder, so that they survive a power cut.
void sync_path(const std::filesystem::path& path, support::ErrorKind kind);

// Returns `.NAME.tmp-PID-N` next to `path`, a name that no other process uses at the moment.
std::filesystem::path make_temporary_path(const std::filesystem::path& path);
// Calls `create` with such names until it succeeds, and sets `temporary` to the last one. Another name is tried only if
// `create` fails with EEXIST, because of a leftover of a killed process with the same PID. Returns false with errno if
// `create` fails otherwise, or with 1000 names.
bool try_temporary_paths(const std::filesystem::path& path, std::filesystem::path& temporary,
                         const std::function<bool(const std::filesystem::path& temporary)>& create);
bool is_temporary_name(std::string_view name);

// Returns the folder of `path`, or "." for a bare name.
std::filesystem::path find_folder_of(const std::filesystem::path& path);

// Describes a failed system call: `runs/a/history.jsonl: cannot be written: No space left on device; free some space,
// or choose another run.output_dir`. `error` is an errno. `what` continues a sentence that starts with the path. The
// kind is `system` if the machine failed, such as for a full disk, and `kind` otherwise.
support::Error make_file_error(support::ErrorKind kind, const std::filesystem::path& path, std::string_view what,
                               int error);

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
  // step and then removed. On a file system that cannot exchange folders (NFS, exFAT), it is first renamed to a
  // temporary name, so a crash at that moment loses it.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty once renamed
  support::ErrorKind kind_;
};

// Creates the folder and its missing parents durably. An existing folder is not an error.
void make_folders_durably(const std::filesystem::path& path, support::ErrorKind kind);

// Creates or replaces a symbolic link in one step. Returns false if the file system has no symbolic links.
bool try_replace_link_durably(const std::filesystem::path& link, const std::filesystem::path& target,
                              support::ErrorKind kind);

// Removes a folder atomically: after a crash, the name has the complete folder or nothing. Files that the system does
// not remove stay under a temporary name, with a warning.
void remove_folder_durably(const std::filesystem::path& path, support::ErrorKind kind);

// Removes temporary files of crashed processes from the folder. A file that cannot be removed is a warning. REQUIRES:
// no process writes to the folder.
void remove_leftovers(const std::filesystem::path& folder, support::ErrorKind kind);

}  // namespace tenon::artifacts
