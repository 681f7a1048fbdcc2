// Images in folders, a folder for each class: the layout of ImageNet and of most collections people have.
#include <string>
#include <utility>
#include <vector>

#include <tenon/plugin.hpp>

#include "plugins/datasets/image_folder/image_files.h"
#include "plugins/datasets/shared/image_reader.h"
#include "plugins/datasets/shared/validation_part.h"

namespace image_folder {
namespace {

// The images of the split. Labels come from all classes, so that they are the same in each split.
std::vector<ImageFile> select_images(std::vector<ImageFile> images, const tenon::Params& params) {
  const std::string split = params.text("split");
  if (split == "all") return images;
  const double fraction = params.number("validation_fraction");
  std::erase_if(images, [&](const ImageFile& image) {
    return datasets::is_validation_name(image.path, fraction) != (split == "validation");
  });
  if (images.empty()) {
    throw tenon::DataError(params.path("path") + ": none of its images falls into the split \"" + split +
                           "\"; change validation_fraction, or add images");
  }
  return images;
}

class ImageFolder final {
 public:
  using Worker = datasets::ImageReader::Worker;

  static std::vector<tenon::Param> schema() {
    std::vector<tenon::Param> params = {
        tenon::required<tenon::Path>("path").doc(
            "folder with one folder for each class; labels follow their names' byte order"),
        tenon::param("split", "all")
            .choices({"all", "train", "validation"})
            .doc("which images: all, or one of two parts that a single folder is divided into by the images' paths"),
        tenon::param("validation_fraction", 0.1)
            .range("(0, 1)")
            .doc("share of the images in the split validation; the split train has the others"),
    };
    for (tenon::Param& param : datasets::ImageReader::schema()) params.push_back(std::move(param));
    return params;
  }

  explicit ImageFolder(const tenon::Params& params) : root_(params.path("path")), reader_(params) {
    images_ = select_images(list_image_files(root_).images, params);
    reader_.expect_images(images_.size());
  }

  std::vector<tenon::Field> fields() const {
    return {reader_.field("image", "the image"), {"label", TENON_INT64, {}, "the class, from 0"}};
  }

  int64_t size() const { return static_cast<int64_t>(images_.size()); }

  Worker open_worker(uint64_t, uint64_t) const { return reader_.open_worker(); }

  void get(Worker& worker, const tenon::Sample& sample, const tenon::Sink& sink) const {
    const ImageFile& image = images_[static_cast<size_t>(sample.index)];
    const std::string path = root_ + '/' + image.path;
    reader_.write(worker, static_cast<size_t>(sample.index), datasets::LooseImage(path), sample.seed, sink, "image");
    sink.put<int64_t>("label", image.label);
  }

 private:
  std::string root_;
  datasets::ImageReader reader_;
  std::vector<ImageFile> images_;
};

}  // namespace
}  // namespace image_folder

TENON_PLUGIN("image_folder", "0.1.0", "Apache-2.0", "Images in folders, decoded and transformed on the fly.",
             tenon::dataset<image_folder::ImageFolder>("image_folder", "images in one folder per class"))
