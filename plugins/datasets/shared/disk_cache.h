// Prepared images in a folder, a file each, for all processes and runs that prepare the same images in the same way.
#pragma once

#include <atomic>
#include <string>

#include "plugins/datasets/shared/image_cache.h"

namespace datasets {

class DiskCache final : public ImageCache {
 public:
  // `recipe` says all that the pixels depend on beside the image's bytes. Makes the folder. Throws tenon::DataError
  // naming it where it cannot be written to.
  DiskCache(std::string folder, std::string recipe);

  // The file's name is a hash of recipe and identity; within it both are written out and compared, and a checksum
  // (CRC-32) is over all. What is damaged, of another image or cut short is taken for absent, and made anew.
  std::optional<PreparedImage> find(size_t number, const ImageFile& image, Buffer& buffer) override;
  // Under a temporary name, then renamed: nobody sees a part. Where the disk is full or the folder gone, the image is
  // not kept, and the log says so once.
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
