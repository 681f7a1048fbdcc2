#include "plugins/images/transforms/transform_kinds.h"

namespace images {

Argument probability(std::string default_value) {
  return {
      .name = "p", .default_value = std::move(default_value), .doc = "probability of being applied", .range = "[0, 1]"};
}

Argument size_argument(std::string doc) {
  return {.name = "size",
          .default_value = "",
          .doc = std::move(doc),
          .counts = {1, 2},
          .range = "[1, 65536]",
          .is_whole = true};
}

Argument interpolation_argument(std::string default_value, std::vector<std::string> words, std::string doc) {
  return {.name = "interpolation",
          .default_value = std::move(default_value),
          .doc = std::move(doc),
          .counts = {},
          .words = std::move(words)};
}

Argument antialias_argument() {
  return flag("antialias", "true",
              "whether to average pixels when downscaling, as Pillow does; false: interpolate between neighbours, as "
              "OpenCV does");
}

Argument fill_argument() {
  return {.name = "fill",
          .default_value = "0",
          .doc = "colour outside the image: one level, or red, green and blue",
          .counts = {1, 3},
          .range = "[0, 255]"};
}

Argument magnitude_bins_argument(std::string doc) {
  return {.name = "num_magnitude_bins",
          .default_value = "31",
          .doc = std::move(doc),
          .range = "[2, 1001]",
          .is_whole = true};
}

cv::Size size_from(const Arguments& arguments, std::string_view name) {
  const std::vector<double>& numbers = arguments.numbers(name);
  return {static_cast<int>(numbers.back()), static_cast<int>(numbers.front())};
}

Interpolation interpolation_from(const Arguments& arguments) {
  const std::string& word = arguments.word("interpolation");
  if (word == "nearest") return Interpolation::nearest;
  return word == "bicubic" ? Interpolation::bicubic : Interpolation::bilinear;
}

Antialias antialias_from(const Arguments& arguments) {
  return arguments.is_on("antialias") ? Antialias::yes : Antialias::no;
}

Colour colour_from(const std::vector<double>& numbers) {
  const auto channel = [&](size_t i) { return static_cast<float>(numbers.size() == 1 ? numbers[0] : numbers[i]); };
  return {channel(0), channel(1), channel(2)};
}

double draw_between(tenon::Random& random, std::pair<double, double> interval) {
  return interval.first + (interval.second - interval.first) * random.uniform();
}

}  // namespace images
