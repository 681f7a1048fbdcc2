#include "plugins/datasets/shared/unlabelled_images.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>

#include "plugins/datasets/shared/csv.h"
#include "plugins/datasets/shared/list_folder.h"
#include "plugins/datasets/shared/listed_file.h"

namespace datasets {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 10> kImageExtensions = {".jpg",  ".jpeg", ".jpe",  ".png", ".bmp",
                                                               ".webp", ".tif",  ".tiff", ".pgm", ".ppm"};

std::string extension_in_lower_case(const fs::path& path) {
  std::string extension = path.extension().native();
  for (char& c : extension) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return extension;
}

// `prefix`: of the names.
void list_folder(const fs::path& folder, const fs::path& prefix, std::vector<UnlabelledImage>& images) {
  std::vector<std::string> paths;
  size_t others = 0;
  visit_tree(folder, "a folder of images", [&](const fs::directory_entry& entry) {
    if (entry.path().filename().native().front() == '.') return false;
    if (!is_image_name(entry.path())) {
      std::error_code is_link_without_target;
      if (!entry.is_directory(is_link_without_target)) ++others;
    } else if (is_listed_file(entry, "an image")) {
      paths.push_back(entry.path().lexically_relative(folder).native());
    }
    return true;
  });
  if (paths.empty()) {
    throw tenon::DataError(folder.native() +
                           ": holds no image; expected files that end in .jpg, .png or another known extension, at any "
                           "depth");
  }
  if (others > 0) {
    tenon::log_warning(folder.native() + ": " + std::to_string(others) + (others == 1 ? " file is" : " files are") +
                       " left out; expected the extension of an image, such as .jpg or .png");
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) images.push_back({(prefix / path).native(), (folder / path).native()});
}

void list_rows(const std::string& file, const std::string& column, std::vector<UnlabelledImage>& images) {
  const tables::Csv csv(file);
  const size_t place = csv.find_column(column).value_or(csv.find_column("image").value_or(0));
  for (size_t row = 0; row < csv.rows(); ++row) {
    const std::string cell(csv.cell(row, place));
    if (cell.empty()) throw tenon::DataError(csv.place(row, place) + " is empty; expected the path of an image");
    images.push_back({cell, (fs::path(file).parent_path() / cell).native()});
  }
}

}  // namespace

bool is_image_name(const fs::path& path) {
  return std::find(kImageExtensions.begin(), kImageExtensions.end(), extension_in_lower_case(path)) !=
         kImageExtensions.end();
}

tenon::Param unlabelled_parameter() {
  return tenon::param("unlabelled", std::vector<std::string>{})
      .lists_unlabelled()
      .doc("folders, images or CSV files to read in place of the labelled images, set by host predict --input");
}

std::vector<UnlabelledImage> list_unlabelled_images(const std::vector<std::string>& inputs, const std::string& column) {
  std::vector<UnlabelledImage> images;
  for (const std::string& input : inputs) {
    std::error_code refused;
    const fs::file_status status = fs::status(input, refused);
    if (status.type() == fs::file_type::directory) {
      list_folder(input, inputs.size() == 1 ? "" : input, images);
    } else if (status.type() != fs::file_type::regular) {
      const bool is_missing = status.type() == fs::file_type::not_found;
      throw tenon::DataError(input + ": " +
                             (is_missing ? "does not exist"
                              : refused  ? "cannot be read: " + refused.message()
                                         : "is neither a file nor a folder") +
                             "; expected a folder of images, an image, or a CSV file with a column of paths");
    } else if (extension_in_lower_case(input) == ".csv") {
      list_rows(input, column, images);
    } else {
      images.push_back({input, input});
    }
  }
  return images;
}

}  // namespace datasets
