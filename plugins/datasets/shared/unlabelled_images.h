// Images without labels, such as those that `host predict --input` reads.
#pragma once

#include <string>
#include <vector>

#include <tenon/plugin.hpp>

namespace datasets {

struct UnlabelledImage {
  std::string name;  // for predictions: relative to the only folder, or as given
  std::string path;
};

// The parameter `unlabelled`, a list of inputs for list_unlabelled_images().
tenon::Param unlabelled_parameter();

// Lists the images of the inputs, in the order of the inputs:
// - a folder: its images, as list_images(). Logs how many files are no images.
// - a file that ends in .csv, .tsv or .txt (separated by tabs): the paths in a column, in the order of the rows,
//   relative to the folder of the file. It is the column `column` if the table has it, otherwise `image`, otherwise the
//   first one. If the first row has the path of an image, the file has no header, and all rows are read. Each file must
//   exist.
// - another file: an image.
// Throws tenon::DataError naming the input that does not exist, cannot be read or has no image.
std::vector<UnlabelledImage> list_unlabelled_images(const std::vector<std::string>& inputs,
                                                    const std::string& column = "image");

}  // namespace datasets
