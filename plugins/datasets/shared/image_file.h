// The bytes of an image, in a separate file or within a larger one.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace datasets {

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

}  // namespace datasets
