#include "framework/artifacts/run_folder/start_files.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "framework/artifacts/files/durable_file.h"
#include "framework/artifacts/files/file_error.h"
#include "framework/support/files/file_descriptor.h"

namespace tenon::artifacts {

void write_unsynced(const std::filesystem::path& path, std::string_view text, support::ErrorKind kind) {
  const std::filesystem::path temporary = make_temporary_path(path);
  write_file_durably(temporary, text, kind, SyncedBy::containing_folder);
  if (support::retry_interrupted([&] { return ::rename(temporary.c_str(), path.c_str()); }) == 0) return;
  const int error = errno;
  ::unlink(temporary.c_str());
  throw make_file_error(kind, path, "cannot be renamed to its final name", error);
}

void sync_start(const RunFolder& folder) {
  constexpr auto kKind = support::ErrorKind::system;
  const std::filesystem::path runs = find_folder_of(folder.root);
  for (const std::filesystem::path& path :
       {folder.plan_file(), folder.record_file(), folder.root, runs, find_folder_of(runs)})
    sync_path(path, kKind);
}

}  // namespace tenon::artifacts
