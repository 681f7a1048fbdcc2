// Images in folders, with one folder per class. ImageNet and most image collections use this layout.
#include <string>
#include <utility>
#include <vector>

#include <tenon/plugin.hpp>

#include "plugins/datasets/image_folder/image_files.h"
#include "plugins/datasets/shared/image_reader.h"
#include "plugins/datasets/shared/validation_part.h"

namespace image_folder {
namespace {

// Returns the images of the split. All classes define the labels, so labels are the same in every split.
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

void warn_about(const SkippedFiles& skipped, const std::string& root) {
  if (skipped.count == 0) return;
  tenon::log_warning(root + ": " + std::to_string(skipped.count) +
                     (skipped.count == 1 ? " file was skipped, " : " files were skipped, the first is ") +
                     skipped.first +
                     "; expected the extension of an image, such as .jpg or .png; convert images of other formats, or "
                     "remove the files");
}

class ImageFolder final {
 public:
  using Worker = datasets::ImageReader::Worker;

  static std::vector<tenon::Param> schema() {
    std::vector<tenon::Param> params = {
        tenon::required<tenon::Path>("path").doc(
            "folder with one folder per class; labels number the class folders in byte order of their names"),
        tenon::param("split", "all")
            .choices({"all", "train", "validation"})
            .doc("images to use: all, or one of two parts of the folder, split by the paths of the images"),
        tenon::param("validation_fraction", 0.1)
            .range("(0, 1)")
            .doc("fraction of the images in the validation split; the train split has the rest"),
    };
    for (tenon::Param& param : datasets::ImageReader::schema()) params.push_back(std::move(param));
    return params;
  }

  explicit ImageFolder(const tenon::Params& params) : root_(params.path("path")), reader_(params) {
    ImageFiles files = list_image_files(root_);
    warn_about(files.skipped, root_);
    classes_ = std::move(files.classes);
    images_ = select_images(std::move(files.images), params);
    reader_.expect_images(images_.size());
  }

  std::vector<tenon::Field> fields() const {
    return {reader_.field("image", "the image"), {"label", TENON_INT64, {}, "the class, from 0"}};
  }

  std::vector<tenon::ClassNames> class_names() const { return {{"label", classes_}}; }

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
  std::vector<std::string> classes_;
  std::vector<ImageFile> images_;
};

}  // namespace
}  // namespace image_folder

TENON_PLUGIN("image_folder", "0.1.0", "Apache-2.0", "Images in folders, decoded and transformed on the fly.",
             tenon::dataset<image_folder::ImageFolder>("image_folder", "images in one folder per class"))
