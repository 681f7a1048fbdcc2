// Looks at a folder of images as a run would, through the dataset image_folder, and writes the run file of
// `host init images`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tenon::host {

// Where the images of a run are. Each folder has one folder per class.
struct ImageFolders {
  std::filesystem::path train;
  std::filesystem::path validation = {};  // empty: a part of `train`
  std::filesystem::path test = {};        // empty: none
};

struct ClassCount {
  std::string name;  // with escapes for control characters and for bytes that are not UTF-8
  int64_t images;
};

int64_t count_images(const std::vector<ClassCount>& classes);

// What a run trains on.
struct ImageData {
  ImageFolders folders;
  std::vector<ClassCount> train;
  std::vector<ClassCount> validation;
  std::vector<ClassCount> test = {};
  double validation_fraction = 0;  // of the images of the folder; 0: the validation has another folder
  int64_t shorter_side = 0;        // median height or width, whichever is smaller, of some images, in pixels
  std::string unreadable = {};     // a message about images that cannot be read; empty: none was found
};

// Lists the images, and decodes up to 32 of them. Throws Error(data) with the expected layout for a folder without
// images or with images outside of class folders, for fewer than two classes, for a class of the validation or test
// data that the training data lack, for too few images, and if none of them can be read. Also throws as Catalogue and
// components::Dataset do.
ImageData read_image_data(const std::filesystem::path& folder,
                          const std::vector<std::filesystem::path>& plugin_directories);

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
