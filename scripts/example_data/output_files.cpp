#include "scripts/example_data/output_files.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <vector>

#include <opencv2/imgcodecs.hpp>

namespace example_data {
namespace {

namespace fs = std::filesystem;

constexpr int kJpegQuality = 92;

// A temporary folder, which the destructor removes with its content.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const fs::path& target)
      : path_(target.parent_path() / ("." + target.filename().native() + "." + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Returns the absolute path without a trailing slash, so that it has a file name and a parent.
fs::path complete_path(const fs::path& folder) {
  const fs::path path = fs::absolute(folder).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

void write_file(const fs::path& file, const std::string& bytes) {
  std::ofstream stream(file, std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!stream.flush()) throw std::runtime_error(file.native() + ": cannot be written; is the disk full?");
}

void write_image(const fs::path& file, const cv::Mat& image) {
  // OpenCV expects the order blue, green, red.
  cv::Mat turned = image;
  if (image.channels() == 3) {
    turned = cv::Mat(image.size(), image.type());
    cv::mixChannels({image}, {turned}, {0, 2, 1, 1, 2, 0});
  }
  std::vector<uint8_t> bytes;
  if (!cv::imencode(file.extension().native(), turned, bytes, {cv::IMWRITE_JPEG_QUALITY, kJpegQuality})) {
    throw std::runtime_error(file.native() + ": cannot be encoded");
  }
  write_file(file, std::string(bytes.begin(), bytes.end()));
}

void write_folder(const fs::path& folder, const std::function<void(const fs::path&)>& write) {
  const fs::path path = complete_path(folder);
  if (fs::exists(path) && !(fs::is_directory(path) && fs::is_empty(path))) {
    throw std::invalid_argument(path.native() + ": already exists; expected a new folder; remove it or choose another");
  }
  const TemporaryFolder temporary(path);
  const fs::path inside = temporary.path() / path.filename();
  fs::create_directory(inside);
  write(inside);
  fs::rename(inside, path);
}

std::string padded(int number) {
  char text[16];
  std::snprintf(text, sizeof text, "%05d", number);
  return text;
}

}  // namespace example_data
