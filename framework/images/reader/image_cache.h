// The bytes of images, and caches of prepared images.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <opencv2/core.hpp>
#include <tenon/error.hpp>

namespace images {

// The bytes of an image, in a separate file or within a larger one.
class ImageFile {
 public:
  virtual ~ImageFile() = default;
  // Location for messages. Different images have different ones.
  virtual std::string place() const = 0;
  // Where another file lists the image, for messages: "photos.csv:12"; empty: nowhere.
  virtual std::string listed() const { return ""; }
  // Throws tenon::DataError naming the location.
  virtual void read(std::vector<uint8_t>& bytes) const = 0;
  // Identifies the bytes by path, size and time of the last change. Throws tenon::DataError like read().
  virtual std::string identity() const = 0;
};

// Runs `work`, and adds to its errors where the image is listed.
template <class Work>
auto with_listing(const ImageFile& image, Work&& work) {
  try {
    return work();
  } catch (const tenon::HostError&) {
    throw;
  } catch (const tenon::Error& error) {
    const std::string listed = image.listed();
    if (listed.empty()) throw;
    throw tenon::Error(error.status(), std::string(error.what()) + " (" + listed + ')');
  }
}

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

  // Without a result, the image is not cached and keep() may follow.
  // The pixels are valid until the buffer is used again, and must not be modified.
  virtual std::optional<PreparedImage> find(const ImageFile& image, Buffer& buffer) = 0;
  // Called after find() with the same arguments. The image may be dropped if there is no space.
  virtual void keep(const ImageFile& image, const PreparedImage& prepared, Buffer& buffer) = 0;
};

// Prepared images in memory, as many as fit. The first images stay.
class MemoryCache final : public ImageCache {
 public:
  explicit MemoryCache(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  std::optional<PreparedImage> find(const ImageFile& image, Buffer& buffer) override;
  void keep(const ImageFile& image, const PreparedImage& prepared, Buffer& buffer) override;

  uint64_t bytes() const;

 private:
  struct Entry {
    cv::Size whole;
    cv::Size size;
    std::unique_ptr<uint8_t[]> pixels;  // never changes
  };

  const uint64_t max_bytes_;
  mutable std::shared_mutex mutex_;
  uint64_t bytes_ = 0;
  std::unordered_map<std::string, Entry> entries_;  // by place
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
  std::optional<PreparedImage> find(const ImageFile& image, Buffer& buffer) override;
  // Writes a temporary file and renames it, so readers never see a partial file. If the disk is full or the folder is
  // gone, the image is not stored, and one warning is logged.
  void keep(const ImageFile& image, const PreparedImage& prepared, Buffer& buffer) override;

 private:
  std::string path_of(const std::string& key) const;
  void report(const std::string& path);

  std::string folder_;
  std::string recipe_;
  std::atomic<uint64_t> written_ = 0;
  std::atomic<bool> has_reported_ = false;
};

}  // namespace images
