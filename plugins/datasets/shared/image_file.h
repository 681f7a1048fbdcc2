// Where the bytes of an image are: in a file of its own, or within a larger one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace datasets {

class ImageFile {
 public:
  virtual ~ImageFile() = default;
  // For messages.
  virtual std::string place() const = 0;
  // Throws tenon::DataError naming the place.
  virtual void read(std::vector<uint8_t>& bytes) const = 0;
  // Says which bytes these are: path, size and time of the last change. Throws tenon::DataError as read() does.
  virtual std::string identity() const = 0;
};

class LooseImage final : public ImageFile {
 public:
  explicit LooseImage(const std::string& path) : path_(path) {}  // which must outlive this

  std::string place() const override { return path_; }
  void read(std::vector<uint8_t>& bytes) const override;
  std::string identity() const override;

 private:
  const std::string& path_;
};

// `PATH, SIZE bytes, changed at SECONDS.NANOSECONDS`. Throws tenon::DataError naming the path.
std::string identify_file(const std::string& path);

}  // namespace datasets
