#include "plugins/datasets/segmentation/masks.h"

#include <algorithm>
#include <array>

#include <tenon/error.hpp>

#include "framework/formats/examine.h"
#include "framework/formats/strings.h"

namespace segmentation {
namespace {

constexpr int kNone = -1;

// "0, 128 and 255"
std::string list_numbers(const std::vector<int>& numbers, const std::string& conjunction = " and ") {
  constexpr size_t kMost = 8;
  std::string text;
  const size_t shown = std::min(numbers.size(), kMost);
  for (size_t i = 0; i < shown; ++i)
    text += (i == 0 ? "" : i + 1 == numbers.size() ? conjunction : ", ") + std::to_string(numbers[i]);
  if (shown < numbers.size()) text += conjunction + std::to_string(numbers.size() - shown) + " others";
  return text;
}

// "values = [0, 128, 255]"
std::string format_values(const std::vector<int>& numbers) { return "values = [" + formats::join(numbers) + ']'; }

}  // namespace

std::vector<tenon::Param> MaskClasses::schema() {
  return {
      tenon::required<int64_t>("classes")
          .range("[1, 256]")
          .doc("number of classes; a mask holds numbers from 0 to classes - 1, and ignore_index"),
      tenon::param("ignore_index", 255)
          .range("[0, 255]")
          .doc("number in the masks that means no class, also used for pixels outside the image; set the loss and "
               "the metric to the same ignore_index"),
      tenon::param("values", std::vector<int64_t>{})
          .range("[0, 255]")
          .doc("number in the masks that stands for each class, such as [0, 255] for masks in black and white; empty: "
               "the numbers are the classes"),
  };
}

MaskClasses::MaskClasses(const tenon::Params& params)
    : count_(params.integer("classes")), ignore_index_(static_cast<int>(params.integer("ignore_index"))) {
  const std::vector<int64_t> values = params.integers("values");
  is_mapped_ = !values.empty();
  classes_.fill(kNone);
  classes_[static_cast<size_t>(ignore_index_)] = ignore_index_;
  if (!is_mapped_) {
    for (int number = 0; number < count_; ++number) classes_[static_cast<size_t>(number)] = number;
    return;
  }
  if (static_cast<int64_t>(values.size()) != count_) {
    throw tenon::Error(TENON_INVALID_ARGUMENT, "parameter \"values\" has " + std::to_string(values.size()) +
                                                   " numbers; expected one for each of the " + std::to_string(count_) +
                                                   " classes, or none");
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::find(values.begin(), values.begin() + static_cast<ptrdiff_t>(i), values[i]) !=
        values.begin() + static_cast<ptrdiff_t>(i)) {
      throw tenon::Error(TENON_INVALID_ARGUMENT, "parameter \"values\" has " + std::to_string(values[i]) +
                                                     " twice; expected another number for each class");
    }
    classes_[static_cast<size_t>(values[i])] = static_cast<int>(i);
  }
}

void MaskClasses::replace_numbers(const tenon::draft::Pixels& mask, const std::string& path,
                                  std::vector<uint8_t>& classes) const {
  const auto count = static_cast<size_t>(mask.height * mask.width);
  classes.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const int found = classes_[mask.elements[i]];
    if (found == kNone) {
      const std::string expected =
          is_mapped_ ? "one of the parameter values" : "a class from 0 to " + std::to_string(count_ - 1);
      const auto width = static_cast<size_t>(mask.width);
      throw tenon::DataError(path + ": the pixel in column " + std::to_string(i % width) + " of row " +
                             std::to_string(i / width) + " (from 0) is " + std::to_string(mask.elements[i]) +
                             "; expected " + expected + ", or " + std::to_string(ignore_index_) +
                             " to ignore it; correct the mask or the parameters classes, values and ignore_index");
    }
    classes[i] = static_cast<uint8_t>(found);
  }
}

void MaskClasses::examine(size_t masks, const Read& read, const std::string& place) const {
  constexpr size_t kMostPixels = 50'000'000;  // a fraction of a second
  std::array<size_t, 256> found = {};
  std::vector<int> missing;
  size_t examined = 0, pixels = 0;
  do {
    if (const auto mask = read(formats::spread_index(examined, masks))) {
      const auto count = static_cast<size_t>(mask->height * mask->width);
      std::for_each_n(mask->elements, count, [&](uint8_t number) { ++found[number]; });
      pixels += count;
    }
    missing = list_missing(found);
  } while (++examined < masks && !missing.empty() && pixels < kMostPixels);
  if (pixels == 0) return;
  warn_of_ignored(found, place);
  if (missing.empty()) return;

  std::vector<int> numbers;
  for (int number = 0; number < 256; ++number)
    if (found[static_cast<size_t>(number)] > 0) numbers.push_back(number);
  const bool are_all = examined == masks;
  const std::string holds = place + ": " + (are_all ? "the " : std::to_string(examined) + " of the ") +
                            std::to_string(masks) + " masks hold only " + list_numbers(numbers);
  if (!is_mapped_) check_meaning(numbers, holds);
  const std::string text = holds + ", so no pixel is of class " + list_numbers(missing, " or ") +
                           "; expected each of the " + std::to_string(count_) +
                           " classes; correct the parameter classes, or set values to the number that stands for each";
  if (are_all)
    tenon::log_warning(text);
  else
    tenon::log_info(text);  // a rare class is no fault
}

// Warns if masks in black and white have a few pixels of class 1, such as along an edge that was drawn or scaled.
void MaskClasses::warn_of_ignored(const std::array<size_t, 256>& found, const std::string& place) const {
  constexpr size_t kMany = 1000;  // times the pixels of class 1
  if (is_mapped_ || count_ != 2 || ignore_index_ < count_) return;
  const size_t ignored = found[static_cast<size_t>(ignore_index_)];
  if (found[1] == 0 || ignored / kMany < found[1]) return;
  const std::string number = std::to_string(ignore_index_);
  tenon::log_warning(place + ": the examined masks have " + std::to_string(ignored) + " pixels of " + number +
                     ", which is ignore_index, and " + std::to_string(found[1]) + " of class 1; is " + number +
                     " class 1? then correct the pixels that are 1, and set " + format_values({0, ignore_index_}));
}

std::vector<int> MaskClasses::list_missing(const std::array<size_t, 256>& found) const {
  std::vector<bool> has_class(static_cast<size_t>(count_));
  for (size_t number = 0; number < found.size(); ++number)
    if (found[number] > 0 && classes_[number] >= 0 && classes_[number] < count_)
      has_class[static_cast<size_t>(classes_[number])] = true;
  std::vector<int> missing;
  for (int i = 0; i < count_; ++i)
    if (!has_class[static_cast<size_t>(i)]) missing.push_back(i);
  return missing;
}

// `numbers`: all that the masks hold.
void MaskClasses::check_meaning(const std::vector<int>& numbers, const std::string& holds) const {
  const std::string ignored = std::to_string(ignore_index_);
  if (count_ == 2 && ignore_index_ >= count_ && numbers == std::vector<int>{0, ignore_index_}) {
    throw tenon::DataError(holds + ", and ignore_index is " + ignored +
                           ", so all that is not ignored is of class 0; is " + ignored + " class 1? then set " +
                           format_values(numbers) + "; or, if it is no class, set " + format_values({0, 1}));
  }
  const auto is_wrong = [&](int number) { return classes_[static_cast<size_t>(number)] == kNone; };
  if (std::none_of(numbers.begin(), numbers.end(), is_wrong)) return;
  std::vector<int> meant = numbers;
  std::erase(meant, ignore_index_);
  if (static_cast<int64_t>(meant.size()) != count_) meant = numbers;
  if (static_cast<int64_t>(meant.size()) != count_) return;  // the first sample with a wrong number is refused
  throw tenon::DataError(holds + "; expected the classes 0 to " + std::to_string(count_ - 1) + ", or " + ignored +
                         " to ignore a pixel; if these numbers stand for the " + std::to_string(count_) +
                         " classes in this order, set " + format_values(meant));
}

}  // namespace segmentation
