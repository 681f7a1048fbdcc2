// A dataset of grey images with labels in IDX files, the format of MNIST and of datasets that adopted it (Y. LeCun,
// C. Cortes, C. Burges, "The MNIST database", 1998). A header has two zero bytes, the type of the elements, the number
// of dimensions, and each dimension in four bytes, most significant byte first. The elements follow.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <tenon/plugin.hpp>
#include <vector>

namespace {

struct IdxFile {
  std::vector<int64_t> shape;
  std::vector<uint8_t> elements;
};

// Throws tenon::DataError, which names the file, unless it has unsigned bytes in `dimensions` dimensions.
IdxFile read_idx(const std::string& path, size_t dimensions) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw tenon::DataError(path + ": cannot be opened");
  const std::vector<uint8_t> bytes(std::istreambuf_iterator<char>(stream), {});
  if (bytes.size() >= 2 && bytes[0] == 0x1F && bytes[1] == 0x8B)
    throw tenon::DataError(path + ": is compressed by gzip; uncompress it with gunzip");
  constexpr uint8_t kUnsignedBytes = 8;
  const size_t header = 4 + 4 * dimensions;
  if (bytes.size() < header || bytes[0] != 0 || bytes[1] != 0 || bytes[2] != kUnsignedBytes || bytes[3] != dimensions)
    throw tenon::DataError(path + ": expected an IDX file of unsigned bytes with " + std::to_string(dimensions) +
                           (dimensions == 1 ? " dimension" : " dimensions"));
  IdxFile file;
  size_t left = bytes.size() - header;  // elements for each index of the dimensions so far, if they divide the file
  bool fits = true;
  for (size_t at = 4; at < header; at += 4) {
    const size_t extent = size_t{bytes[at]} << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3];
    file.shape.push_back(static_cast<int64_t>(extent));
    fits = fits && extent > 0 && left % extent == 0;
    if (fits) left /= extent;
  }
  if (!fits || left != 1)
    throw tenon::DataError(path + ": has " + std::to_string(bytes.size() - header) +
                           " bytes after its header, which says another number; fetch the file again");
  file.elements.assign(bytes.begin() + static_cast<std::ptrdiff_t>(header), bytes.end());
  return file;
}

class Mnist final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::required<tenon::Path>("images").doc("IDX file of the images, such as train-images-idx3-ubyte"),
            tenon::required<tenon::Path>("labels").doc("IDX file of the labels, such as train-labels-idx1-ubyte"),
            tenon::param("mean", 0.0).doc("mean of all pixels in [0, 1]; 0.1307 for MNIST"),
            tenon::param("std", 1.0).range("(0, inf)").doc("standard deviation of all pixels; 0.3081 for MNIST")};
  }

  explicit Mnist(const tenon::Params& params)
      : images_(read_idx(params.path("images"), 3)),
        labels_(read_idx(params.path("labels"), 1).elements),
        mean_(static_cast<float>(params.number("mean"))),
        std_(static_cast<float>(params.number("std"))) {
    if (labels_.size() == static_cast<size_t>(size())) return;
    throw tenon::DataError(params.path("labels") + ": has " + std::to_string(labels_.size()) + " labels; expected " +
                           std::to_string(size()) + ", one for each image of " + params.path("images"));
  }

  std::vector<tenon::Field> fields() const {
    return {{"image", TENON_FLOAT32, {1, images_.shape[1], images_.shape[2]}, "(brightness in [0, 1] - mean) / std"},
            {"label", TENON_INT64, {}, "the class, from 0"}};
  }

  // The files have no names of classes, so the largest label says how many there are.
  std::vector<tenon::ClassNames> class_names() const {
    return {{"label", {}, uint64_t{*std::max_element(labels_.begin(), labels_.end())} + 1}};
  }

  int64_t size() const { return images_.shape.front(); }

  void get(const tenon::Sample& sample, const tenon::Sink& sink) const {
    const int64_t pixels = images_.shape[1] * images_.shape[2];
    const uint8_t* const image = images_.elements.data() + sample.index * pixels;
    std::transform(image, image + pixels, sink.slot<float>("image"),
                   [this](uint8_t level) { return (static_cast<float>(level) / 255 - mean_) / std_; });
    sink.put("label", int64_t{labels_[static_cast<size_t>(sample.index)]});
  }

 private:
  IdxFile images_;
  std::vector<uint8_t> labels_;
  float mean_, std_;
};

}  // namespace

TENON_PLUGIN("mnist", "1.0.0", "MIT", "Images and labels in MNIST's file format.",
             tenon::dataset<Mnist>("mnist", "grey images and labels in IDX files, the format of MNIST"))
