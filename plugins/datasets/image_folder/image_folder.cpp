// Images in folders, with one folder per class. ImageNet and most image collections use this layout.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/draft/images.hpp>
#include <tenon/plugin.hpp>

#include "framework/formats/strings.h"
#include "plugins/datasets/image_folder/image_files.h"
#include "plugins/datasets/shared/join_params.h"
#include "plugins/datasets/shared/list_images.h"
#include "plugins/datasets/shared/split.h"

namespace image_folder {
namespace {

// A class may have too few images for both parts.
void warn_about_missing(const std::vector<std::string>& classes, const std::vector<ImageFile>& images,
                        const std::string& root) {
  std::vector<bool> has_image(classes.size());
  for (const ImageFile& image : images) has_image[static_cast<size_t>(image.label)] = true;
  std::vector<std::string> missing;
  for (size_t i = 0; i < classes.size(); ++i)
    if (!has_image[i]) missing.push_back(classes[i]);
  if (missing.empty()) return;
  constexpr size_t kShown = 3;
  const size_t count = missing.size();
  missing.resize(std::min(count, kShown));
  tenon::log_warning(root + ": the split \"train\" has no image of " + std::to_string(count) + " of the " +
                     std::to_string(classes.size()) + " classes (" + formats::join(missing) +
                     (count > kShown ? ", ..." : "") +
                     "), so they are never learned; expected images of each class; add some, or change "
                     "validation_fraction");
}

class ImageFolder final {
 public:
  using Worker = tenon::draft::ImageWorker;

  static std::vector<tenon::Param> schema() {
    const std::vector<tenon::Param> of_folder = {
        tenon::required<tenon::Path>("path").doc("folder with one folder per class; labels number the class folders by "
                                                 "value if all names are numbers, else in byte order"),
        tenon::param("split", "all")
            .choices({"all", "train", "validation"})
            .doc("images to use: all, or one of two parts of the folder, split by the paths of the images"),
        tenon::param("validation_fraction", 0.1)
            .range("(0, 1)")
            .doc("fraction of the images in the validation split; the train split has the rest"),
        datasets::unlabelled_parameter(),
    };
    return datasets::join_params({of_folder, tenon::draft::image_params()});
  }

  explicit ImageFolder(const tenon::Params& params) : root_(params.path("path")), pipeline_(params) {
    unlabelled_ = datasets::list_unlabelled_images(params.texts("unlabelled"));
    if (!unlabelled_.empty()) return;
    ImageFiles files = list_image_files(root_);
    datasets::warn_about(files.skipped, root_);
    classes_ = std::move(files.classes);
    images_ = std::move(files.images);
    // All classes define the labels, so labels are the same in every split.
    const datasets::Split split(params);
    std::erase_if(images_, [&](const ImageFile& image) { return !split.has(image.path); });
    split.check_samples(images_.size(), root_, "images");
    if (params.text("split") == "train") warn_about_missing(classes_, images_, root_);
    pipeline_.examine(images_.size(), [&](size_t i) {
      return std::make_unique<tenon::draft::ImageFile>(root_ + '/' + images_[i].path);
    });
  }

  std::vector<tenon::Field> fields() const {
    if (!unlabelled_.empty()) return {pipeline_.field("image", "the image")};
    return {pipeline_.field("image", "the image"), {"label", TENON_INT64, {}, "the class, from 0"}};
  }

  std::vector<tenon::ClassNames> class_names() const {
    if (!unlabelled_.empty()) return {};
    return {{"label", classes_}};
  }

  std::vector<tenon::Preprocessing> preprocessing() const { return {pipeline_.preprocessing("image")}; }

  int64_t size() const { return static_cast<int64_t>(unlabelled_.empty() ? images_.size() : unlabelled_.size()); }

  std::string sample_name(int64_t index) const {
    const auto i = static_cast<size_t>(index);
    return unlabelled_.empty() ? images_[i].path : unlabelled_[i].name;
  }

  Worker open_worker(uint64_t, uint64_t) const { return pipeline_.open_worker(); }

  void get(Worker& worker, const tenon::Sample& sample, const tenon::Sink& sink) const {
    const auto i = static_cast<size_t>(sample.index);
    const std::string path = unlabelled_.empty() ? root_ + '/' + images_[i].path : unlabelled_[i].path;
    worker.write(tenon::draft::ImageFile(path), sample.seed, sink, "image");
    if (unlabelled_.empty()) sink.put<int64_t>("label", images_[i].label);
  }

 private:
  std::string root_;
  tenon::draft::ImagePipeline pipeline_;
  std::vector<std::string> classes_;
  std::vector<ImageFile> images_;
  std::vector<datasets::UnlabelledImage> unlabelled_;  // if not empty, they take the place of images_
};

}  // namespace
}  // namespace image_folder

TENON_PLUGIN("image_folder", "0.1.0", "Apache-2.0", "Images in folders, decoded and transformed on the fly.",
             tenon::dataset<image_folder::ImageFolder>("image_folder", "images in one folder per class"))
