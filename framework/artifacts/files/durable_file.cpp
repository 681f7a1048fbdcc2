#include "framework/artifacts/files/durable_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "framework/support/diagnostics/log.h"
#include "framework/support/files/files.h"
#include "framework/support/text/format.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMaxWrite = size_t{1} << 30;  // Linux writes a little less than 2 GiB per call

// Calls fsync(2). Returns 0 or the errno. EIO is final: the kernel has dropped the pages, and a second call would
// report success.
int sync_descriptor(int descriptor) {
  return support::retry_interrupted([&] { return ::fsync(descriptor); }) == 0 ? 0 : errno;
}

// Calls transfer(part, number of bytes before it), which is write(2), pwrite(2) or pread(2), until all bytes are
// transferred. Returns 0 or an errno.
template <class Byte, class Transfer>
int transfer_fully(std::span<Byte> bytes, const Transfer& transfer) {
  for (size_t done = 0; done < bytes.size();) {
    const auto part = bytes.subspan(done, std::min(bytes.size() - done, kMaxWrite));
    const ssize_t count = support::retry_interrupted([&] { return transfer(part, done); });
    if (count <= 0) return count < 0 ? errno : EIO;
    done += static_cast<size_t>(count);
  }
  return 0;
}

off_t to_offset(uint64_t offset) { return static_cast<off_t>(offset); }

const char* find_hint(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: return "; free some space, or choose another run.output_dir (for host pack: another --output)";
    case EACCES:
    case EPERM:
    case EROFS: return "; choose a writable run.output_dir (for host pack: a writable --output)";
    case EFBIG: return "; the file would exceed the file size limit of the process (ulimit -f) or of the file system";
    case EIO: return "; the disk or its driver reports a fault: check the kernel log";
    case EMFILE:
    case ENFILE: return "; raise the limit of open files (ulimit -n)";
    case ENOTDIR:
      return "; a part of the path is a file; expected a folder: choose another run.output_dir (for host pack: another "
             "--output)";
    case ENAMETOOLONG: return "; choose a shorter name (for a run: run.name or run.output_dir)";
    default: return "";
  }
}

// A leftover is harmless: a later run removes it. On NFS, a file that another process has open stays as .nfsXXXX.
void remove_temporary(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error)
    support::log_warning("{}: cannot be removed: {}; it is not needed, and the next run of this name removes it",
                         path.string(), error.message());
}

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

int write_fully(int descriptor, std::span<const std::byte> bytes) {
  return transfer_fully(bytes, [&](auto part, size_t) { return ::write(descriptor, part.data(), part.size()); });
}

void sync_path(const fs::path& path, support::ErrorKind kind) {
  support::FileDescriptor descriptor(
      support::retry_interrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (!descriptor.is_open()) throw make_file_error(kind, path, "cannot be opened to sync it", errno);
  const int error = sync_descriptor(descriptor.number());
  // EINVAL: the file system cannot sync a folder and does not need to.
  if (error != 0 && error != EINVAL) throw make_file_error(kind, path, "cannot be synced to disk", error);
}

fs::path find_folder_of(const fs::path& path) {
  const auto folder = path.parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

fs::path make_temporary_path(const fs::path& path) {
  static std::atomic<uint64_t> counter{0};
  return path.parent_path() / fmt::format(".{}.tmp-{}-{}", path.filename().string(), ::getpid(), counter.fetch_add(1));
}

bool try_temporary_paths(const fs::path& path, std::filesystem::path& temporary,
                         const std::function<bool(const fs::path& temporary)>& create) {
  constexpr int kAttempts = 1000;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    temporary = make_temporary_path(path);
    if (create(temporary)) return true;
    if (errno != EEXIST) return false;
  }
  return false;
}

bool is_temporary_name(std::string_view name) {
  return name.starts_with('.') && name.find(".tmp-") != std::string_view::npos;
}

DurableFile::DurableFile(fs::path path, support::ErrorKind kind, SyncedBy synced_by)
    : path_(std::move(path)), kind_(kind), synced_by_(synced_by) {
  const auto create = [this](const fs::path& name) {
    descriptor_ = support::FileDescriptor(
        support::retry_interrupted([&] { return ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666); }));
    return descriptor_.is_open();
  };
  if (synced_by_ == SyncedBy::containing_folder) {
    temporary_ = path_;
    if (create(path_)) return;
  } else if (try_temporary_paths(path_, temporary_, create)) {
    return;
  }
  throw make_file_error(kind_, path_, "cannot be created", errno);
}

DurableFile::~DurableFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void DurableFile::write(std::span<const std::byte> bytes) {
  if (const int error = write_fully(descriptor_.number(), bytes); error != 0)
    throw make_file_error(kind_, path_, "cannot be written", error);
}

void DurableFile::write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }

void DurableFile::write_at(uint64_t offset, std::span<const std::byte> bytes) {
  const auto write = [&](auto part, size_t done) {
    return ::pwrite(descriptor_.number(), part.data(), part.size(), to_offset(offset + done));
  };
  if (const int error = transfer_fully(bytes, write); error != 0)
    throw make_file_error(kind_, path_, "cannot be written", error);
}

void DurableFile::read_at(uint64_t offset, std::span<std::byte> bytes) const {
  const auto read = [&](auto part, size_t done) {
    return ::pread(descriptor_.number(), part.data(), part.size(), to_offset(offset + done));
  };
  if (const int error = transfer_fully(bytes, read); error != 0)
    throw make_file_error(kind_, path_, "cannot be read again", error);
}

void DurableFile::resize(uint64_t bytes) {
  if (support::retry_interrupted([&] { return ::ftruncate(descriptor_.number(), to_offset(bytes)); }) != 0)
    throw make_file_error(kind_, path_, "cannot be resized", errno);
}

void DurableFile::commit() {
  const bool is_named = synced_by_ == SyncedBy::containing_folder;
  if (const int error = is_named ? 0 : sync_descriptor(descriptor_.number()); error != 0)
    throw make_file_error(kind_, path_, "cannot be synced to disk", error);
  if (descriptor_.close() != 0 && errno != EINTR) throw make_file_error(kind_, path_, "cannot be closed", errno);
  if (is_named) {
    temporary_.clear();
    return;
  }
  if (support::retry_interrupted([&] { return ::rename(temporary_.c_str(), path_.c_str()); }) != 0)
    throw make_file_error(kind_, path_, "cannot be renamed to its final name", errno);
  temporary_.clear();
  sync_path(find_folder_of(path_), kind_);
}

void write_file_durably(const fs::path& path, std::string_view text, support::ErrorKind kind, SyncedBy synced_by) {
  DurableFile file(path, kind, synced_by);
  file.write(text);
  file.commit();
}

support::Error make_file_error(support::ErrorKind kind, const fs::path& path, std::string_view what, int error) {
  const support::Error plain = support::make_path_error(kind, path, what, error);
  return support::Error(plain.kind(), "{}{}", plain.what(), find_hint(error));
}

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
  if (support::retry_interrupted(exchange) == 0) {
    sync_path(find_folder_of(path_), kind_);
    remove_temporary(std::exchange(temporary_, {}));  // the earlier folder
    return;
  }
  if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
    throw make_file_error(kind_, path_, "already exists and cannot be exchanged for the new one", errno);
  const fs::path earlier = make_temporary_path(path_);
  if (support::retry_interrupted([&] { return ::rename(path_.c_str(), earlier.c_str()); }) != 0)
    throw make_file_error(kind_, path_, "cannot be replaced", errno);
  if (support::retry_interrupted([&] { return ::rename(temporary_.c_str(), path_.c_str()); }) != 0) {
    const int error = errno;
    ::rename(earlier.c_str(), path_.c_str());
    throw make_file_error(kind_, path_, "cannot be renamed to its final name", error);
  }
  temporary_.clear();
  sync_path(find_folder_of(path_), kind_);
  remove_temporary(earlier);
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
    if (support::retry_interrupted([&] { return ::mkdir(folder->c_str(), 0777); }) != 0 && errno != EEXIST)
      throw make_file_error(kind, *folder, "cannot be created", errno);
    sync_path(find_folder_of(*folder), kind);
  }
  if (!support::is_folder(path)) throw make_file_error(kind, path, "cannot be created", ENOTDIR);
}

bool try_replace_link_durably(const fs::path& link, const fs::path& target, support::ErrorKind kind) {
  fs::path temporary;
  if (!try_temporary_paths(link, temporary, [&](const fs::path& name) {
        return support::retry_interrupted([&] { return ::symlink(target.c_str(), name.c_str()); }) == 0;
      })) {
    // Linux: EPERM on FAT and exFAT, EOPNOTSUPP on CIFS; FUSE file systems also have ENOSYS.
    if (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS) return false;
    throw make_file_error(kind, link, "cannot be created", errno);
  }
  if (support::retry_interrupted([&] { return ::rename(temporary.c_str(), link.c_str()); }) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    throw make_file_error(kind, link, "cannot be renamed to its final name", error);
  }
  sync_path(find_folder_of(link), kind);
  return true;
}

void remove_folder_durably(const fs::path& path, support::ErrorKind kind) {
  const fs::path temporary = make_temporary_path(path);
  if (support::retry_interrupted([&] { return ::rename(path.c_str(), temporary.c_str()); }) != 0)
    throw make_file_error(kind, path, "cannot be removed", errno);
  // The sync precedes the removal of the files, so that a power cut cannot restore the name with half of them.
  sync_path(find_folder_of(path), kind);
  remove_temporary(temporary);
}

void remove_leftovers(const fs::path& folder, support::ErrorKind kind) {
  for (const fs::path& path : support::list_folder(folder, kind))
    if (is_temporary_name(path.filename().string())) remove_temporary(path);
}

}  // namespace tenon::artifacts
