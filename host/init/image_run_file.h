// Writes the run file of `host init images`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "host/init/image_folders.h"

namespace tenon::host {

// The settings that depend on the images.
struct ImageSettings {
  int64_t size;        // height and width of the model's input, in pixels
  bool is_small;       // few images: small_cnn; otherwise resnet
  int64_t batch_size;  // a power of two; at least four batches in an epoch, if there are enough images
  int64_t epochs;      // more for few images
  bool is_unbalanced;  // the largest class has at least three times the images of the smallest
};

ImageSettings choose_settings(const ImageData& data);

// "3 classes, 240 images for training (60 to 100 in a class), 30 for validation".
std::string describe_images(const ImageData& data);

// Returns a run file with comments. `file`: where it will be, which the paths in it are relative to unless `folder`, as
// given by the user, is absolute. `command`: the command that runs the file.
std::string format_image_run_file(const ImageData& data, const std::filesystem::path& file, const std::string& command);

}  // namespace tenon::host
