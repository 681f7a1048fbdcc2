#include "plugins/datasets/shared/turned_images.h"

#include <algorithm>
#include <set>

namespace datasets {
namespace {

// "boxLeft_x1" has the words boxleft and x.
std::set<std::string> words_of(const std::string& name) {
  std::set<std::string> words;
  std::string word;
  for (const char c : name + ' ') {
    const bool is_upper = c >= 'A' && c <= 'Z';
    if (is_upper || (c >= 'a' && c <= 'z')) {
      word += is_upper ? static_cast<char>(c - 'A' + 'a') : c;
    } else {
      if (!word.empty()) words.insert(word);
      word.clear();
    }
  }
  return words;
}

bool is_coordinate(const std::string& name) {
  static const std::set<std::string> kWords = {"x",      "y",      "cx",       "cy",        "xc",       "yc",
                                               "xmin",   "xmax",   "ymin",     "ymax",      "left",     "right",
                                               "top",    "bottom", "xy",       "xyxy",      "xywh",     "bbox",
                                               "bboxes", "boxes",  "keypoint", "keypoints", "landmark", "landmarks"};
  const std::set<std::string> words = words_of(name);
  return std::any_of(words.begin(), words.end(), [](const std::string& word) { return kWords.contains(word); });
}

}  // namespace

void TurnedImages::examine(const tenon::draft::ImagePipeline& pipeline, size_t samples, size_t images,
                           const tenon::draft::ImagePipeline::Open& open) const {
  tenon::draft::ImageWorker worker = pipeline.open_worker();
  const auto differs = [&](size_t number, int orientation) {
    const size_t first = number - number % images;
    for (size_t other = first; other < first + images; ++other)
      if (other != number && worker.inspect(*open(other)).orientation != orientation) return true;
    return false;
  };
  formats::Finding turned;
  const size_t examined = pipeline.examine(samples * images, open, [&](size_t number, int orientation) {
    try {
      if (has_unturned_ || differs(number, orientation)) turned.add(print(open(number)->place(), orientation));
    } catch (const tenon::Error& error) {
      if (error.status() != TENON_BAD_DATA) throw;  // reported when the sample is read
    }
  });
  warn(turned, examined);
}

void TurnedImages::warn_of_transforms(const tenon::draft::ImagePipeline& pipeline, bool are_relative) const {
  const std::string moving = pipeline.list_moving(/*counts_scaling=*/!are_relative);
  if (moving.empty()) return;
  tenon::log_warning("the transforms move the pixels of the image, but not the " + other_ + ": " + moving +
                     "; expected transforms that keep each pixel in its place; remove these, and prepare the images "
                     "and the " +
                     other_ + " together");
}

void TurnedImages::check(Sample& sample, const tenon::draft::ImageInfo& info,
                         const tenon::draft::ImageFile& image) const {
  sample.has_upright = sample.has_upright || info.orientation == 1;
  sample.has_turned = sample.has_turned || info.orientation > 1;
  if (sample.has_turned && (sample.has_upright || has_unturned_)) warn(print(image.place(), info.orientation));
}

bool have_coordinates(const std::vector<std::string>& names) {
  const auto is_letter = [](const std::string& name) { return name.size() == 1; };
  std::vector<std::string> found;
  std::copy_if(names.begin(), names.end(), std::back_inserter(found), is_coordinate);
  return found.size() > 1 || (found.size() == 1 && !is_letter(found.front()));
}

bool is_pixel_map(const std::string& name) {
  static const std::set<std::string> kWords = {"mask",  "masks", "seg",     "segmentation", "labelmap", "semantic",
                                               "depth", "flow",  "heatmap", "heatmaps",     "density",  "disparity"};
  const std::set<std::string> words = words_of(name);
  return std::any_of(words.begin(), words.end(), [](const std::string& word) { return kWords.contains(word); });
}

}  // namespace datasets
