#include "plugins/datasets/shared/positions.h"

#include <algorithm>
#include <set>
#include <string_view>

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
