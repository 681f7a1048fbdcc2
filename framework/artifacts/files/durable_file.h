// Atomic, durable file writes. A file is written under a temporary name in the same folder, fsync-ed and renamed, and
// the folder is fsync-ed. If the process is killed at any moment, the name has the earlier file (or none) or the
// complete new file.
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

}  // namespace tenon::artifacts
