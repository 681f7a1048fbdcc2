// The bytes of images, and caches of prepared images.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <opencv2/core.hpp>

namespace datasets {

// The bytes of an image, in a separate file or within a larger one.
class ImageFile {
 public:
  virtual ~ImageFile() = default;
  // Location for messages.
  virtual std::string place() const = 0;
  // Throws tenon::DataError naming the location.
  virtual void read(std::vector<uint8_t>& bytes) const = 0;
  // Identifies the bytes by path, size and time of the last change. Throws tenon::DataError like read().
  virtual std::string identity() const = 0;
};

class LooseImage final : public ImageFile {
 public:
  explicit LooseImage(std::string path) : path_(std::move(path)) {}

  std::string place() const override { return path_; }
  void read(std::vector<uint8_t>& bytes) const override;
  std::string identity() const override;

 private:
  std::string path_;
};

// `PATH, SIZE bytes, changed at SECONDS.NANOSECONDS`. Throws tenon::DataError naming the path.
std::string identify_file(const std::string& path);

// An image after the leading transforms (docs/reference/transforms.md). It is cached to be decoded and scaled once.
struct PreparedImage {
  cv::Size whole;  // size of the image before the transforms
  cv::Mat pixels;  // 8-bit RGB, rows without gaps
};

// All workers call it concurrently.
class ImageCache {
 public:
  // Buffers that a worker thread reuses for every image.
  struct Buffer {
    std::string key;
    std::vector<uint8_t> bytes;
  };

  virtual ~ImageCache() = default;

  // `number` is the index of the image in its dataset. Without a result, the image is not cached and keep() may follow.
  // The pixels are valid until the buffer is used again, and must not be modified.
  virtual std::optional<PreparedImage> find(size_t number, const ImageFile& image, Buffer& buffer) = 0;
  // Called after find() with the same arguments. The image may be dropped if there is no space.
  virtual void keep(size_t number, const ImageFile& image, const PreparedImage& prepared, Buffer& buffer) = 0;
};

// Prepared images in memory, as many as fit. The first images stay.
class MemoryCache final : public ImageCache {
 public:
  // Caches images numbered below `images` in at most `max_bytes` bytes.
  MemoryCache(size_t images, uint64_t max_bytes);
  ~MemoryCache() override;

  // Takes no lock.
  std::optional<PreparedImage> find(size_t number, const ImageFile& image, Buffer& buffer) override;
  void keep(size_t number, const ImageFile& image, const PreparedImage& prepared, Buffer& buffer) override;

  uint64_t bytes() const { return bytes_; }

 private:
  struct Entry {
    cv::Size whole;
    cv::Size size;
    std::unique_ptr<uint8_t[]> pixels;
  };

  const uint64_t max_bytes_;
  std::atomic<uint64_t> bytes_ = 0;
  std::vector<std::atomic<Entry*>> entries_;  // by number; null: not cached
};

// A folder of prepared images, one file each, shared by all processes and runs that prepare the same images the same
// way.
class DiskCache final : public ImageCache {
 public:
  // `recipe` describes everything that the pixels depend on, except the image's bytes. Creates the folder. Throws
  // tenon::DataError naming the folder if it is not writable.
  DiskCache(std::string folder, std::string recipe);

  // The file name is a hash of recipe and identity. The file contains both, and they are compared. A checksum (CRC-32)
  // covers the file. A file that is damaged, truncated or of another image counts as missing, and is written again.
  std::optional<PreparedImage> find(size_t number, const ImageFile& image, Buffer& buffer) override;
  // Writes a temporary file and renames it, so readers never see a partial file. If the disk is full or the folder is
  // gone, the image is not stored, and one warning is logged.
  void keep(size_t number, const ImageFile& image, const PreparedImage& prepared, Buffer& buffer) override;

 private:
  std::string path_of(const std::string& key) const;
  void report(const std::string& path);

  std::string folder_;
  std::string recipe_;
  std::atomic<uint64_t> written_ = 0;
  std::atomic<bool> has_reported_ = false;
};

}  // namespace datasets
