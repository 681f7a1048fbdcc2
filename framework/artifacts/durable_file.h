// Files that are there whole or not at all: written under a temporary name in the same folder, fsync-ed, renamed, and
// the folder fsync-ed. Killed at any moment, the earlier file (or none) is found under the name, or the new one, never
// half.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "framework/support/error.h"
#include "framework/support/file_descriptor.h"

namespace tenon::artifacts {

// Whose commit() makes a file last: its own, or that of the DurableFolder it lies in, which syncs all files at once.
enum class LastsBy { itself, its_folder };

// Every function throws Error of the kind given, with the path and the system's reason; the temporary is then removed
// and what was under the name before is untouched.
class DurableFile {
 public:
  // Opens the temporary file beside `path`, whose folder must exist. Within a durable folder, which is temporary
  // itself, the file has its name at once.
  DurableFile(std::filesystem::path path, support::ErrorKind kind, LastsBy lasts_by = LastsBy::itself);
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;
  ~DurableFile();  // without commit(): removes the temporary

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  // For a file that is not written from its beginning to its end. REQUIRES: what read_at() asks for was written.
  void write_at(uint64_t offset, std::span<const std::byte> bytes);
  void read_at(uint64_t offset, std::span<std::byte> bytes) const;
  void resize(uint64_t bytes);
  // Puts the file under its name. Once it returns, the file survives a power cut.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty once renamed
  support::ErrorKind kind_;
  LastsBy lasts_by_;
  support::FileDescriptor descriptor_;
};

void write_file_durably(const std::filesystem::path& path, std::string_view text, support::ErrorKind kind,
                        LastsBy lasts_by = LastsBy::itself);

// Writes all of it, whatever pieces the system takes it in. 0, or the errno that ended it.
int write_fully(int descriptor, std::span<const std::byte> bytes);

// Makes what was written to a file, or a folder's names, survive a power cut.
void sync_path(const std::filesystem::path& path, support::ErrorKind kind);

// `.NAME.tmp-PID-N` beside `path`: a name that nobody else uses at the moment.
std::filesystem::path make_temporary_path(const std::filesystem::path& path);
bool is_temporary_name(std::string_view name);

// The folder that holds `path`; "." for a bare name.
std::filesystem::path find_folder_of(const std::filesystem::path& path);

}  // namespace tenon::artifacts
