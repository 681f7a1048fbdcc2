#include "plugins/datasets/shared/list_images.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <tenon/plugin.hpp>

#include "framework/formats/unicode.h"
#include "plugins/datasets/shared/csv.h"
#include "plugins/datasets/shared/find_files.h"
#include "plugins/datasets/shared/warn.h"

namespace datasets {
namespace {

namespace fs = std::filesystem;

// `prefix`: of the names.
void list_folder(const fs::path& folder, const fs::path& prefix, std::vector<UnlabelledImage>& images) {
  SkippedFiles skipped;
  const std::vector<std::string> paths = list_images(folder, folder, "a folder of images", skipped);
  if (paths.empty()) {
    throw tenon::DataError(folder.native() +
                           ": holds no image; expected files that end in .jpg, .png or another known extension, at any "
                           "depth");
  }
  warn_about(skipped, folder.native());
  for (const std::string& path : paths) images.push_back({(prefix / path).native(), (folder / path).native()});
}

// The column of the paths, and whether the first row names the columns.
struct ListForm {
  size_t column = 0;
  bool has_header = true;
};

bool is_list_name(const fs::path& path) {
  const std::string extension = extension_in_lower_case(path);
  return extension == "csv" || extension == "tsv" || extension == "txt";
}

bool is_path(std::string_view cell) {
  const std::string extension = extension_in_lower_case(cell);
  return cell.find_first_of("/\\") != std::string_view::npos ||
         (!extension.empty() && extension.find_first_of(" \t") == std::string::npos);
}

// The file may be missing, or of a format that is not read. A name of a column may look like a path, such as "x.1".
bool begins_with_path(const tables::Csv& rows, size_t column, const fs::path& folder) {
  const std::string cell(formats::trim(rows.cell(0, column)));
  std::error_code refused;
  return is_image_name(cell) || (is_path(cell) && (rows.rows() == 1 || is_path(formats::trim(rows.cell(1, column))))) ||
         (!cell.empty() && fs::is_regular_file(folder / cell, refused));
}

ListForm find_form(const tables::Csv& rows, const std::string& file, const std::string& column) {
  for (const std::string& name : {column, std::string("image")}) {
    for (size_t i = 0; i < rows.columns().size(); ++i)
      if (formats::clean_name(rows.cell(0, i)) == name) return {i};
  }
  for (size_t i = 0; i < rows.columns().size(); ++i)
    if (begins_with_path(rows, i, fs::path(file).parent_path())) return {i, false};
  // The first column with a name: pandas writes its index without one.
  ListForm form;
  while (form.column + 1 < rows.columns().size() && rows.cell(0, form.column).empty()) ++form.column;
  return form;
}

void list_rows(const std::string& file, const std::string& column, std::vector<UnlabelledImage>& images) {
  const bool is_csv = extension_in_lower_case(file) == "csv";
  const tables::Csv csv(file, is_csv ? ',' : '\t', tables::Csv::Header::none);
  const ListForm form = find_form(csv, file, column);
  if (!form.has_header)
    inform(file + ": has no header: its first line is \"" + std::string(csv.cell(0, form.column)) +
           "\"; all lines are read as images");
  ListedPaths listed(file);
  const size_t first = form.has_header ? 1 : 0;
  if (first == csv.rows())
    throw tenon::DataError(file + ": has no row below its header; expected the path of an image");
  for (size_t row = first; row < csv.rows(); ++row) {
    const std::string cell(csv.cell(row, form.column));
    const std::string place = file + ':' + std::to_string(csv.line(row));
    if (csv.columns().size() == 1 && formats::trim(cell).empty()) continue;  // a blank line
    if (cell.empty())
      throw tenon::DataError(place + ": cell " + std::to_string(form.column + 1) +
                             " is empty; expected the path of an image");
    images.push_back({cell, (fs::path(file).parent_path() / cell).native()});
    listed.add(images.back().path, place);
  }
  listed.check("");
}

}  // namespace

void SkippedFiles::add(const std::string& path) {
  if (count == 0 || path < first) first = path;
  ++count;
}

bool SkippedFiles::leaves_out(const fs::path& path) {
  const std::string name = path.filename().native();
  if (name != "@eaDir") return name.front() == '.';
  ++thumbnail_folders;
  return true;
}

std::vector<std::string> list_images(const fs::path& folder, const fs::path& root, const std::string& expected,
                                     SkippedFiles& skipped) {
  std::vector<std::string> paths;
  visit_tree(folder, expected, [&](const fs::directory_entry& entry) {
    if (skipped.leaves_out(entry.path())) return false;
    if (!is_image_name(entry.path())) {
      std::error_code is_link_without_target;
      if (!entry.is_directory(is_link_without_target)) skipped.add(entry.path().lexically_relative(root).native());
    } else if (is_listed_file(entry, "an image")) {
      paths.push_back(entry.path().lexically_relative(root).native());
    }
    return true;
  });
  std::sort(paths.begin(), paths.end());
  return paths;
}

void warn_about(const SkippedFiles& skipped, const std::string& folder) {
  if (skipped.thumbnail_folders > 0) {
    tenon::log_info(folder + ": " + std::to_string(skipped.thumbnail_folders) +
                    (skipped.thumbnail_folders == 1 ? " folder" : " folders") + " of thumbnails (@eaDir) skipped");
  }
  if (skipped.count == 0) return;
  tenon::log_warning(folder + ": " + std::to_string(skipped.count) +
                     (skipped.count == 1 ? " file was skipped, " : " files were skipped, the first is ") +
                     skipped.first +
                     "; expected the extension of an image, such as .jpg or .png; convert images of other formats, or "
                     "remove the files");
}

tenon::Param unlabelled_parameter() {
  return tenon::param("unlabelled", std::vector<std::string>{})
      .lists_unlabelled()
      .doc(
          "folders, images or lists (.csv, .tsv, .txt) to read in place of the labelled images, set by host predict "
          "--input");
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
      throw tenon::DataError(
          input + ": " +
          (is_missing ? "does not exist"
           : refused  ? "cannot be read: " + refused.message()
                      : "is neither a file nor a folder") +
          "; expected a folder of images, an image, or a list (.csv, .tsv, .txt) with a column of paths");
    } else if (is_list_name(input)) {
      list_rows(input, column, images);
    } else {
      images.push_back({input, input});
    }
  }
  return images;
}

}  // namespace datasets
