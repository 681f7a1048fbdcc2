#include "plugins/datasets/image_folder/decode_image.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <type_traits>

#include <opencv2/imgcodecs.hpp>
#include <tenon/error.hpp>

#include "plugins/datasets/image_folder/complete_file.h"

namespace image_folder {
namespace {

// A host opens every plugin that it finds at each start, also when the run reads no image. Distributions build
// libopencv_imgcodecs with GDAL and what that needs, some hundred libraries: opening it takes 0.1 s, and 0.5 s after a
// boot, against 7 ms for the rest of this plugin. So the plugin does not link it, and opens it when a dataset is
// created. ELF has no other way to put off a library; its one function is looked up by its mangled name.
using Imdecode = cv::Mat (*)(cv::InputArray, int, cv::Mat*);
static_assert(std::is_same_v<decltype(static_cast<Imdecode>(&cv::imdecode)), Imdecode>);
constexpr const char* kImdecodeSymbol = "_ZN2cv8imdecodeERKNS_11_InputArrayEiPNS_3MatE";

Imdecode find_imdecode() {
  // Never closed: OpenCV keeps state per thread and process.
  void* library = dlopen(IMAGE_FOLDER_CODECS, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  void* symbol = library ? dlsym(library, kImdecodeSymbol) : nullptr;
  if (!symbol) {
    throw tenon::Error(std::string("OpenCV's image decoders cannot be loaded: ") + dlerror() +
                       "; install the OpenCV that this plugin was built with, its library " IMAGE_FOLDER_CODECS);
  }
  return reinterpret_cast<Imdecode>(symbol);
}

Imdecode imdecode() {
  static const Imdecode function = find_imdecode();
  return function;
}

[[noreturn]] void throw_errno(const std::string& path) {
  throw tenon::DataError(path + ": cannot be read: " + std::generic_category().message(errno));
}

class File {
 public:
  explicit File(const std::string& path) : path_(path), descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) throw_errno(path_);
  }
  ~File() { close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void read_all(std::vector<uint8_t>& bytes) {
    struct stat status;
    if (fstat(descriptor_, &status) != 0) throw_errno(path_);
    bytes.resize(static_cast<size_t>(status.st_size));
    size_t have = 0;
    while (have < bytes.size()) {
      const ssize_t got = read(descriptor_, bytes.data() + have, bytes.size() - have);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw_errno(path_);
      if (got == 0) break;
      have += static_cast<size_t>(got);
    }
    bytes.resize(have);
  }

 private:
  const std::string& path_;
  int descriptor_;
};

}  // namespace

void load_decoders() { imdecode(); }

void read_image(const std::string& path, std::vector<uint8_t>& buffer, cv::Mat& image) {
  File(path).read_all(buffer);
  if (buffer.empty()) throw tenon::DataError(path + ": is empty; expected an image");
  if (judge_completeness(buffer) == Completeness::truncated) {
    throw tenon::DataError(path + ": is truncated after " + std::to_string(buffer.size()) +
                           " bytes, before the image ends; fetch the file again or remove it");
  }
  cv::Mat decoded;
  try {
    decoded = imdecode()(buffer, cv::IMREAD_COLOR, &image);
  } catch (const cv::Exception& error) {
    throw tenon::DataError(path + ": cannot be decoded: " + error.err);
  }
  if (decoded.empty()) throw tenon::DataError(path + ": is no image that OpenCV can decode, or is damaged");
  image = decoded;
}

}  // namespace image_folder
