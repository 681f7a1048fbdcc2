#include "framework/artifacts/files/durable_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "framework/artifacts/files/file_error.h"
#include "framework/support/files/file_descriptor.h"

namespace tenon::artifacts {

namespace {

constexpr size_t kMaxWrite = size_t{1} << 30;  // Linux writes a little less than 2 GiB per call

// Calls fsync(2). Returns 0 or the errno. EIO is final: the kernel has dropped the pages, and a second call would
// report success.
int sync_descriptor(int descriptor) {
  while (::fsync(descriptor) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

}  // namespace

int write_fully(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), std::min(bytes.size(), kMaxWrite));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return EIO;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return 0;
}

void sync_path(const std::filesystem::path& path, support::ErrorKind kind) {
  support::FileDescriptor descriptor(
      support::retry_interrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (!descriptor.is_open()) throw make_file_error(kind, path, "cannot be opened to sync it", errno);
  const int error = sync_descriptor(descriptor.number());
  // EINVAL: the file system cannot sync a folder and does not need to.
  if (error != 0 && error != EINVAL) throw make_file_error(kind, path, "cannot be synced to disk", error);
}

std::filesystem::path find_folder_of(const std::filesystem::path& path) {
  const auto folder = path.parent_path();
  return folder.empty() ? std::filesystem::path(".") : folder;
}

std::filesystem::path make_temporary_path(const std::filesystem::path& path) {
  static std::atomic<uint64_t> counter{0};
  const std::string name = "." + path.filename().string() + ".tmp-" + std::to_string(::getpid()) + "-" +
                           std::to_string(counter.fetch_add(1));
  return path.parent_path() / name;
}

bool try_temporary_paths(const std::filesystem::path& path, std::filesystem::path& temporary,
                         const std::function<bool(const std::filesystem::path& temporary)>& create) {
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

DurableFile::DurableFile(std::filesystem::path path, support::ErrorKind kind, SyncedBy synced_by)
    : path_(std::move(path)), kind_(kind), synced_by_(synced_by) {
  const auto create = [this](const std::filesystem::path& name) {
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
  if (const int error = write_fully(descriptor_.number(), bytes); error != 0) {
    throw make_file_error(kind_, path_, "cannot be written", error);
  }
}

void DurableFile::write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }

void DurableFile::write_at(uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(descriptor_.number(), bytes.data(), std::min(bytes.size(), kMaxWrite), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw make_file_error(kind_, path_, "cannot be written", written < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
  }
}

void DurableFile::read_at(uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count =
        ::pread(descriptor_.number(), bytes.data(), std::min(bytes.size(), kMaxWrite), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw make_file_error(kind_, path_, "cannot be read again", count < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
}

void DurableFile::resize(uint64_t bytes) {
  if (support::retry_interrupted([&] { return ::ftruncate(descriptor_.number(), static_cast<off_t>(bytes)); }) != 0) {
    throw make_file_error(kind_, path_, "cannot be resized", errno);
  }
}

void DurableFile::commit() {
  const bool is_named = synced_by_ == SyncedBy::containing_folder;
  if (const int error = is_named ? 0 : sync_descriptor(descriptor_.number()); error != 0) {
    throw make_file_error(kind_, path_, "cannot be synced to disk", error);
  }
  if (descriptor_.close() != 0 && errno != EINTR) throw make_file_error(kind_, path_, "cannot be closed", errno);
  if (is_named) {
    temporary_.clear();
    return;
  }
  if (support::retry_interrupted([&] { return ::rename(temporary_.c_str(), path_.c_str()); }) != 0) {
    throw make_file_error(kind_, path_, "cannot be renamed to its final name", errno);
  }
  temporary_.clear();
  sync_path(find_folder_of(path_), kind_);
}

void write_file_durably(const std::filesystem::path& path, std::string_view text, support::ErrorKind kind,
                        SyncedBy synced_by) {
  DurableFile file(path, kind, synced_by);
  file.write(text);
  file.commit();
}

}  // namespace tenon::artifacts
