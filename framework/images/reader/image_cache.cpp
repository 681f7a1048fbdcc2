#include "framework/images/reader/image_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <tenon/error.hpp>
#include <tenon/plugin.hpp>

#include "framework/formats/content_hash.h"
#include "framework/formats/regular_file.h"
#include "framework/images/decode/image_info.h"

namespace images {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "the header is written as it is in memory");

// The beginning of a file. The key follows, then the pixels.
struct Header {
  char magic[8];
  uint32_t checksum;  // of all following bytes
  uint32_t key_bytes;
  int32_t whole[2];  // width, height
  int32_t size[2];
};
static_assert(sizeof(Header) == 32);

constexpr char kMagic[8] = {'T', 'e', 'n', 'o', 'n', 'I', 'm', '1'};
constexpr size_t kChecked = offsetof(Header, key_bytes);

uint32_t checksum_of(std::span<const uint8_t> file) {
  return static_cast<uint32_t>(crc32_z(0, file.data() + kChecked, file.size() - kChecked));
}

struct Descriptor {
  ~Descriptor() {
    if (number >= 0) close(number);
  }
  int number;
};

// Returns false if the file is missing or unreadable. The caller then prepares the image again.
bool read_entry(const std::string& path, std::vector<uint8_t>& bytes) {
  try {
    formats::read_whole(path, "an entry of the cache", bytes);
  } catch (const tenon::DataError&) {
    return false;
  }
  return true;
}

bool write_whole(const std::string& path, std::span<const uint8_t> bytes) {
  const Descriptor file{open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)};
  if (file.number < 0) return false;
  while (!bytes.empty()) {
    const ssize_t written = write(file.number, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

std::optional<PreparedImage> parse(std::vector<uint8_t>& file, std::string_view key) {
  Header header;
  if (file.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, file.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.checksum != checksum_of(file)) {
    return std::nullopt;
  }
  const cv::Size whole(header.whole[0], header.whole[1]);
  const cv::Size size(header.size[0], header.size[1]);
  if (header.key_bytes != key.size() || size.width < 1 || size.height < 1) return std::nullopt;
  const uint64_t pixels = uint64_t{3} * static_cast<uint64_t>(size.width) * static_cast<uint64_t>(size.height);
  if (file.size() - sizeof header < key.size() || file.size() - sizeof header - key.size() != pixels) {
    return std::nullopt;
  }
  if (std::memcmp(file.data() + sizeof header, key.data(), key.size()) != 0) return std::nullopt;
  return PreparedImage{whole, cv::Mat(size, CV_8UC3, file.data() + sizeof header + key.size())};
}

void serialize(const PreparedImage& prepared, std::string_view key, std::vector<uint8_t>& file) {
  const size_t pixels = prepared.pixels.total() * prepared.pixels.elemSize();
  Header header = {{},
                   0,
                   static_cast<uint32_t>(key.size()),
                   {prepared.whole.width, prepared.whole.height},
                   {prepared.pixels.cols, prepared.pixels.rows}};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  file.resize(sizeof header + key.size() + pixels);
  std::memcpy(file.data(), &header, sizeof header);
  std::memcpy(file.data() + sizeof header, key.data(), key.size());
  std::memcpy(file.data() + sizeof header + key.size(), prepared.pixels.data, pixels);
  header.checksum = checksum_of(file);
  std::memcpy(file.data(), &header, sizeof header);
}

}  // namespace

uint64_t MemoryCache::bytes() const {
  const std::shared_lock lock(mutex_);
  return bytes_;
}

std::optional<PreparedImage> MemoryCache::find(const ImageFile& image, Buffer&) {
  const std::shared_lock lock(mutex_);
  const auto found = entries_.find(image.place());
  if (found == entries_.end()) return std::nullopt;
  const Entry& entry = found->second;
  return PreparedImage{entry.whole, cv::Mat(entry.size, CV_8UC3, entry.pixels.get())};
}

void MemoryCache::keep(const ImageFile& image, const PreparedImage& prepared, Buffer&) {
  const size_t size = prepared.pixels.total() * prepared.pixels.elemSize();
  const uint64_t needed = size + sizeof(Entry);
  {
    const std::shared_lock lock(mutex_);
    if (bytes_ + needed > max_bytes_) return;
  }
  Entry entry{prepared.whole, prepared.pixels.size(), std::make_unique_for_overwrite<uint8_t[]>(size)};
  std::memcpy(entry.pixels.get(), prepared.pixels.data, size);
  const std::unique_lock lock(mutex_);
  // Two workers may have prepared the same image concurrently. The first result is kept.
  if (bytes_ + needed <= max_bytes_ && entries_.try_emplace(image.place(), std::move(entry)).second) bytes_ += needed;
}

DiskCache::DiskCache(std::string folder, std::string recipe) : folder_(std::move(folder)), recipe_(std::move(recipe)) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (!error && access(folder_.c_str(), W_OK | X_OK) != 0) error = {errno, std::generic_category()};
  if (error) {
    throw tenon::DataError(folder_ + ": cannot be written to: " + error.message() +
                           "; expected a folder for cache = \"disk\"; choose another cache_dir");
  }
}

// Files are spread over 256 folders, because a million names in one folder are slow on some file systems.
std::string DiskCache::path_of(const std::string& key) const {
  char name[24];
  const uint64_t hash = formats::hash_text(key);
  std::snprintf(name, sizeof name, "%02x/%014llx", static_cast<unsigned int>(hash >> 56),
                static_cast<unsigned long long>(hash & 0x00FFFFFFFFFFFFFFu));
  return folder_ + '/' + name;
}

std::optional<PreparedImage> DiskCache::find(const ImageFile& image, Buffer& buffer) {
  buffer.key = recipe_ + image.identity();
  if (!read_entry(path_of(buffer.key), buffer.bytes)) return std::nullopt;
  return parse(buffer.bytes, buffer.key);
}

void DiskCache::keep(const ImageFile& image, const PreparedImage& prepared, Buffer& buffer) {
  // The file changed since find(), so the pixels may come from the new or the old bytes.
  if (recipe_ + image.identity() != buffer.key) return;
  serialize(prepared, buffer.key, buffer.bytes);
  const std::string path = path_of(buffer.key);
  const std::string temporary = path + ".tmp-" + std::to_string(getpid()) + '-' + std::to_string(written_++);
  std::error_code ignored;
  fs::create_directory(fs::path(path).parent_path(), ignored);
  if (write_whole(temporary, buffer.bytes) && rename(temporary.c_str(), path.c_str()) == 0) return;
  report(path);
  unlink(temporary.c_str());
}

void DiskCache::report(const std::string& path) {
  const std::string reason = std::generic_category().message(errno);
  if (has_reported_.exchange(true)) return;
  tenon::log_warning(path + ": cannot be written: " + reason +
                     "; images missing from the cache are decoded every time");
}

}  // namespace images
