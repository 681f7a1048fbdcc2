// A folder of prepared images, one file each, shared by all processes and runs that prepare the same images the same
// way.
#pragma once

#include <atomic>
#include <string>

#include "plugins/datasets/shared/cache/image_cache.h"

namespace datasets {

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
