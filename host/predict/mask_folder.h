// The pictures of `host predict --masks`.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace tenon::host {

// Returns the class of each pixel, uint8 [N, H, W] on the CPU: of scores [N, C, H, W] the largest, of scores
// [N, 1, H, W] whether it is above 0, and integers [N, H, W] as they are. Throws Error(configuration) for another
// output and for more than 256 classes. `name`: of the output, for messages.
at::Tensor find_pixel_classes(const std::string& name, const at::Tensor& output);

// A folder with a grey PNG file for each sample. The level of a pixel is the number of its class.
class MaskFolder {
 public:
  // Creates the folder. Throws Error(configuration) if it cannot be created or is not empty.
  explicit MaskFolder(std::filesystem::path folder);

  // Writes the masks of a batch, uint8 [N, H, W]. Their files have the names of the samples with the extension .png,
  // and without a leading `/` or any `..`. Two samples with one such name keep their extension before .png. `names` may
  // be empty: then `indices`, int64 [N], are the names. Throws Error(configuration) if a file cannot be written.
  void write(const at::Tensor& masks, const std::vector<std::string>& names, const at::Tensor& indices);

 private:
  std::filesystem::path choose_file(const std::string& name);

  std::filesystem::path folder_;
  std::set<std::filesystem::path> taken_;
};

}  // namespace tenon::host
