#include "host/init/image_folders.h"

#include <algorithm>

#include "framework/config/file/extended_file.h"
#include "framework/config/toml/value.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/text/format_values.h"
#include "framework/support/text/printable.h"

namespace tenon::host {

namespace fs = std::filesystem;
using support::Error;
using support::ErrorKind;

namespace {

constexpr int64_t kFewImages = 2000;          // too few to train a ResNet from random weights
constexpr int64_t kManyImages = 20000;        // enough for large inputs
constexpr int64_t kMostRankedClasses = 4096;  // of precision_recall_f1

// Small images keep their size, rounded up. Of large ones a network learns more from more images than from more pixels,
// and the time of a step grows with the pixels.
int64_t choose_size(int64_t shorter_side, int64_t images) {
  for (const int64_t size : {16, 32, 48})
    if (shorter_side <= size) return size;
  const int64_t most = images < kFewImages ? 64 : images < kManyImages ? 128 : 224;
  int64_t chosen = 64;
  for (const int64_t size : {96, 128, 160, 192, 224})
    if (size <= shorter_side && size <= most) chosen = size;
  return chosen;
}

int64_t choose_batch_size(int64_t images) {
  int64_t size = 1;
  while (size < 64 && size * 2 <= images / 4) size *= 2;
  return size;
}

// The path as the run file has it. A path is relative to the file.
std::string format_path(const fs::path& folder, const fs::path& file) {
  fs::path shown = folder.lexically_normal();
  const fs::path place = file.has_parent_path() ? file.parent_path() : fs::path(".");
  const fs::path base = support::find_canonical_or_absolute(place);
  if (folder.is_relative() && base != support::find_canonical_or_absolute("."))
    shown = support::find_canonical_or_absolute(folder).lexically_relative(base);
  if (!shown.has_filename()) shown = shown.parent_path();  // "photos/"
  if (!support::is_utf8(shown.native()))
    throw Error(ErrorKind::configuration, "{}: the path is not UTF-8, so a run file cannot have it; rename the folder",
                support::format_path(shown));
  return config::escape_variables(config::to_toml(shown.string()));
}

struct ClassRange {
  ClassCount smallest;
  ClassCount largest;
};

ClassRange find_range(const ImageData& data) {
  const auto [least, most] = std::ranges::minmax_element(data.train, {}, &ClassCount::images);
  return {*least, *most};
}

// Appends lines, with comments in a column.
class Text {
 public:
  void line(const std::string& text) { text_ += text + "\n"; }
  void line(const std::string& key, const std::string& comment) {
    text_ += key + std::string(key.size() < kColumn ? kColumn - key.size() : 1, ' ') + "# " + comment + "\n";
  }
  // A line that begins a section, after an empty one.
  template <class... Comment>
  void section(const std::string& text, const Comment&... comment) {
    line("");
    line(text, comment...);
  }
  std::string take() { return std::move(text_); }

 private:
  static constexpr size_t kColumn = 32;
  std::string text_;
};

void write_head(Text& text, const ImageData& data, const ImageSettings& settings, const std::string& command) {
  const ClassRange range = find_range(data);
  text.line("# " + command);
  text.line("#");
  text.line("# " + describe_images(data) + ".");
  if (range.smallest.images < range.largest.images)
    text.line("# The largest class is \"" + range.largest.name + "\", the smallest \"" + range.smallest.name + "\".");
  text.line("# The median of their shorter sides is about " + std::to_string(data.shorter_side) +
            " pixels; the model gets " + std::to_string(settings.size) + " x " + std::to_string(settings.size) + ".");
  text.line("# The number of classes and the channels of the model come from the images.");
  text.line("# With --check, the command prints all keys.");
}

void write_model(Text& text, const ImageSettings& settings) {
  text.section("[model]");
  if (settings.is_small) {
    text.line("use = \"small_cnn\"", "for few images; \"resnet\" with pretrained weights is better still");
    text.line("params = { stages = " +
                  std::string(settings.size < 32   ? "1"
                              : settings.size < 64 ? "2"
                                                   : "3") +
                  " }",
              "how often the image is halved");
  } else {
    text.line("use = \"resnet\"", "or \"small_cnn\", which is faster");
    text.line(std::string("params = { depth = 18") + (settings.size < 64 ? ", stem = \"cifar\"" : "") + " }");
    if (settings.size >= 64) {
      text.line("# weights = \"resnet18.safetensors\"  # pretrained weights, such as torchvision's or timm's");
      text.line("# weights_exclude = [\"fc.*\"]        # the classifier keeps its random initial weights");
    }
  }
}

void write_data(Text& text, const ImageData& data, const ImageSettings& settings, const fs::path& file) {
  const std::string side = std::to_string(settings.size), call = "(" + side + ")";
  const bool is_crop = settings.size < 64;
  const std::string train = is_crop ? "\"resize" + call + "\", \"random_crop(" + side +
                                          ", padding=" + std::to_string(settings.size / 8) + ")\""
                                    : "\"random_resized_crop(" + side + ", scale=(0.35, 1))\"";
  const std::string resized = is_crop ? call : "(" + std::to_string(settings.size * 9 / 8) + ")";
  const std::string train_images = support::format_count(count_images(data.train), "image");
  const std::string validation_images = support::format_count(count_images(data.validation), "image");

  text.section("[data]");
  text.line("batch_size = " + std::to_string(settings.batch_size));
  text.line("workers = \"auto\"", "threads that read images: one less than the cores");
  text.section("[data.train]");
  text.line("use = \"image_folder\"");
  text.section("[data.train.params]");
  text.line("path = " + format_path(data.folders.train, file));
  if (data.validation_fraction > 0) {
    text.line("split = \"train\"", train_images + "; the others are for validation, selected by their paths");
    text.line("validation_fraction = " + config::to_toml(data.validation_fraction));
  } else {
    text.line("# " + train_images + ".");
  }
  text.line("# Remove horizontal_flip() if left and right differ in meaning, as in text and digits.");
  text.line("transforms = [" + train + ", \"horizontal_flip()\", \"normalize()\"]");
  text.section("[data.validation]");
  text.line("like = \"train\"");
  text.section("[data.validation.params]");
  text.line(
      data.validation_fraction > 0 ? "split = \"validation\"" : "path = " + format_path(data.folders.validation, file),
      validation_images);
  text.line("transforms = [\"resize" + resized + "\", \"center_crop" + call + "\", \"normalize()\"]");
  if (data.folders.test.empty()) return;
  text.section("[data.test]",
               support::format_count(count_images(data.test), "image") + ", evaluated once, after training");
  text.line("like = \"validation\"");
  text.line("params = { path = " + format_path(data.folders.test, file) +
            (data.validation_fraction > 0 ? ", split = \"all\" }" : " }"));
}

void write_training(Text& text, const ImageSettings& settings) {
  text.section("[[loss]]");
  text.line("use = \"cross_entropy\"");
  text.line("params = { label_smoothing = 0.1 }");
  text.section("[[metric]]");
  text.line("use = \"accuracy\"");
  if (settings.is_unbalanced) {
    text.section(
        "# Accuracy hides a small class that is never found. These are means over the classes, with equal weights.");
    text.line("[[metric]]");
    text.line("use = \"precision_recall_f1\"");
  }
  text.section("[train]");
  text.line("epochs = " + std::to_string(settings.epochs));
  text.section("[optimizer]");
  text.line("use = \"adamw\"");
  text.line(std::string("lr = ") + (settings.is_small ? "3e-3" : "1e-3"), "the highest; host lr-find suggests one");
  text.line("weight_decay = 0.05");
  text.section("[schedule]");
  text.line("use = \"one_cycle\"", "lr rises in the first third, then falls to almost 0");
  text.section("[checkpoint]");
  text.line(std::string("monitor = \"validation/") + (settings.is_unbalanced ? "f1" : "accuracy") + "\"");
  text.line("load_best_at_end = true", "the result is the best epoch, not the last");
}

}  // namespace

ImageSettings choose_settings(const ImageData& data) {
  const int64_t images = count_images(data.train);
  const ClassRange range = find_range(data);
  return {.size = choose_size(data.shorter_side, images),
          .is_small = images < kFewImages,
          .batch_size = choose_batch_size(images),
          .epochs = images < 500           ? 60
                    : images < kManyImages ? 30
                                           : 15,
          .is_unbalanced = range.largest.images >= 3 * range.smallest.images &&
                           static_cast<int64_t>(data.train.size()) <= kMostRankedClasses};
}

std::string describe_images(const ImageData& data) {
  const ClassRange range = find_range(data);
  const std::string least = std::to_string(range.smallest.images), most = std::to_string(range.largest.images);
  std::string text = fmt::format("{}, {} for training ({} in a class), {} for validation",
                                 support::format_count(std::ssize(data.train), "class", "classes"),
                                 support::format_count(count_images(data.train), "image"),
                                 least == most ? least : least + " to " + most, count_images(data.validation));
  if (!data.test.empty()) text += ", " + std::to_string(count_images(data.test)) + " for the test";
  return text;
}

std::string format_image_run_file(const ImageData& data, const fs::path& file, const std::string& command) {
  const ImageSettings settings = choose_settings(data);
  Text text;
  write_head(text, data, settings, command);
  write_model(text, settings);
  write_data(text, data, settings, file);
  write_training(text, settings);
  return text.take();
}

}  // namespace tenon::host
