#include "framework/artifacts/files/durable_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "framework/artifacts/files/durable_file.h"
#include "framework/artifacts/files/file_error.h"
#include "framework/support/files/file_descriptor.h"
#include "framework/support/files/files.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;

namespace {

void sync_tree(const fs::path& folder, support::ErrorKind kind) {
  for (const fs::path& path : support::list_folder(folder, kind)) {
    std::error_code vanished;
    const fs::file_type type = fs::symlink_status(path, vanished).type();
    if (type == fs::file_type::directory) sync_tree(path, kind);
    if (type == fs::file_type::regular) sync_path(path, kind);
  }
  sync_path(folder, kind);
}

}  // namespace

DurableFolder::DurableFolder(fs::path path, support::ErrorKind kind) : path_(std::move(path)), kind_(kind) {
  if (!try_temporary_paths(path_, temporary_, [](const fs::path& temporary) {
        return support::retry_interrupted([&] { return ::mkdir(temporary.c_str(), 0777); }) == 0;
      }))
    throw make_file_error(kind_, path_, "cannot be created", errno);
}

DurableFolder::~DurableFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

void DurableFolder::commit() {
  sync_tree(temporary_, kind_);
  if (support::retry_interrupted([&] { return ::rename(temporary_.c_str(), path_.c_str()); }) == 0) {
    temporary_.clear();
    sync_path(find_folder_of(path_), kind_);
    return;
  }
  if (errno != ENOTEMPTY && errno != EEXIST)
    throw make_file_error(kind_, path_, "cannot be renamed to its final name", errno);
  const auto exchange = [&] {
    return ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE);
  };
  if (support::retry_interrupted(exchange) != 0) {
    throw make_file_error(kind_, path_, "already exists and cannot be exchanged for the new one on this file system",
                          errno);
  }
  sync_path(find_folder_of(path_), kind_);
  support::remove_tree(temporary_, kind_);  // the earlier folder
  temporary_.clear();
}

void make_folders_durably(const fs::path& path, support::ErrorKind kind) {
  std::vector<fs::path> missing;
  for (fs::path folder = path; !folder.empty(); folder = folder.parent_path()) {
    struct stat status;
    if (::stat(folder.c_str(), &status) == 0) break;
    if (errno != ENOENT) throw make_file_error(kind, folder, "cannot be created", errno);
    missing.push_back(folder);
  }
  for (auto folder = missing.rbegin(); folder != missing.rend(); ++folder) {
    if (support::retry_interrupted([&] { return ::mkdir(folder->c_str(), 0777); }) != 0 && errno != EEXIST) {
      throw make_file_error(kind, *folder, "cannot be created", errno);
    }
    sync_path(find_folder_of(*folder), kind);
  }
  if (!support::is_folder(path)) throw make_file_error(kind, path, "cannot be created", ENOTDIR);
}

void replace_link_durably(const fs::path& link, const fs::path& target, support::ErrorKind kind) {
  fs::path temporary;
  if (!try_temporary_paths(link, temporary, [&](const fs::path& name) {
        return support::retry_interrupted([&] { return ::symlink(target.c_str(), name.c_str()); }) == 0;
      }))
    throw make_file_error(kind, link, "cannot be created", errno);
  if (support::retry_interrupted([&] { return ::rename(temporary.c_str(), link.c_str()); }) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    throw make_file_error(kind, link, "cannot be renamed to its final name", error);
  }
  sync_path(find_folder_of(link), kind);
}

void remove_folder_durably(const fs::path& path, support::ErrorKind kind) {
  const fs::path temporary = make_temporary_path(path);
  if (support::retry_interrupted([&] { return ::rename(path.c_str(), temporary.c_str()); }) != 0)
    throw make_file_error(kind, path, "cannot be removed", errno);
  // The sync precedes the removal of the files, so that a power cut cannot restore the name with half of them.
  sync_path(find_folder_of(path), kind);
  support::remove_tree(temporary, kind);
}

void remove_leftovers(const fs::path& folder, support::ErrorKind kind) {
  for (const fs::path& path : support::list_folder(folder, kind))
    if (is_temporary_name(path.filename().string())) support::remove_tree(path, kind);
}

}  // namespace tenon::artifacts
