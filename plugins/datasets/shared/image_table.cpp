#include "plugins/datasets/shared/image_table.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "plugins/datasets/shared/finding.h"
#include "plugins/datasets/shared/listed_paths.h"
#include "plugins/datasets/shared/split.h"

namespace datasets {
namespace {

// Whether a column seems to hold a position in the image: x, x1, box_left, ymin.
bool is_coordinate(const std::string& column) {
  static const std::set<std::string> kWords = {"x",    "y",    "cx",   "cy",   "xc",    "yc",  "xmin",
                                               "xmax", "ymin", "ymax", "left", "right", "top", "bottom"};
  std::string word;
  for (const char c : column + ' ') {
    const bool is_upper = c >= 'A' && c <= 'Z';
    if (is_upper || (c >= 'a' && c <= 'z')) {
      word += is_upper ? static_cast<char>(c - 'A' + 'a') : c;
    } else {
      if (kWords.contains(word)) return true;
      word.clear();
    }
  }
  return false;
}

bool has_coordinate(const std::vector<std::string>& columns) {
  return std::any_of(columns.begin(), columns.end(), is_coordinate);
}

}  // namespace

std::vector<tenon::Param> ImageTable::schema(std::vector<tenon::Param> columns) {
  std::vector<tenon::Param> params = {
      tenon::required<tenon::Path>("path").doc("CSV file (RFC 4180) with a header and one row per sample"),
      tenon::param("separator", "comma").choices({"comma", "semicolon", "tab"}).doc("separator between cells"),
      tenon::param("root", "")
          .doc("folder that the paths of the images are relative to; itself relative to the folder of the CSV file"),
      ListedPaths::parameter(),
  };
  for (std::vector<tenon::Param> more :
       {std::move(columns), tables::TableTargets::schema(), Split::schema(), ImageReader::schema()}) {
    for (tenon::Param& param : more) params.push_back(std::move(param));
  }
  return params;
}

ImageTable::ImageTable(const tenon::Params& params, const std::vector<std::string>& columns)
    : path_(params.path("path")),
      root_((std::filesystem::path(path_).parent_path() / params.text("root")).native()),
      csv_(path_, tables::separator_named(params.text("separator"))),
      targets_(csv_, params, columns),
      reader_(params),
      images_(columns),
      has_coordinates_(has_coordinate(params.texts("targets"))),
      turned_(has_coordinates_ ? "coordinates among the targets" : "other image of the sample") {
  for (const std::string& parameter : columns) columns_.push_back(csv_.column(params.text(parameter), parameter));
  const Split split(params);
  ListedPaths listed(path_);
  for (size_t row = 0; row < csv_.rows(); ++row) {
    for (const size_t column : columns_) {
      if (csv_.cell(row, column).empty()) {
        throw tenon::DataError(csv_.place(row, column) + " is empty; expected the path of an image");
      }
    }
    if (!split.has(std::string(csv_.cell(row, columns_.front())))) continue;
    rows_.push_back(row);
    for (size_t i = 0; i < columns_.size(); ++i) listed.add(image_path(row, i), csv_.place(row, columns_[i]));
  }
  listed.check(params.text("missing_files"));
  split.check_samples(rows_.size(), path_);
  reader_.expect_images(rows_.size() * columns_.size());
  examine();
}

std::string ImageTable::image_path(size_t row, size_t column) const {
  return (std::filesystem::path(root_) / csv_.cell(row, columns_[column])).native();
}

// Whether coordinates or another image of the sample belong to an image of this orientation and are not turned.
bool ImageTable::is_unlike_others(size_t number, int orientation) const {
  if (has_coordinates_) return true;
  const size_t row = rows_[number / columns_.size()];
  for (size_t i = 0; i < columns_.size(); ++i)
    if (i != number % columns_.size() && reader_.read_orientation(image_path(row, i)) != orientation) return true;
  return false;
}

void ImageTable::examine() const {
  const size_t columns = columns_.size();
  const auto path = [&](size_t number) { return image_path(rows_[number / columns], number % columns); };
  const auto examined = reader_.examine(rows_.size() * columns, path);
  Finding turned;
  for (const auto& [number, orientation] : examined.turned) {
    try {
      if (is_unlike_others(number, orientation)) turned.add(TurnedImages::print(path(number), orientation));
    } catch (const tenon::DataError&) {  // reported when the sample is read
    }
  }
  turned_.warn(turned, examined.count);
}

std::vector<tenon::Field> ImageTable::fields() const {
  std::vector<tenon::Field> fields;
  for (const std::string& image : images_) fields.push_back(reader_.field(image, "the image"));
  for (tenon::Field& field : targets_.fields()) fields.push_back(std::move(field));
  return fields;
}

std::vector<tenon::Preprocessing> ImageTable::preprocessing() const {
  std::vector<tenon::Preprocessing> fields;
  for (const std::string& image : images_) fields.push_back(reader_.preprocessing(image));
  return fields;
}

void ImageTable::write(ImageReader::Worker& worker, int64_t index, const std::vector<uint64_t>& seeds,
                       const tenon::Sink& sink) const {
  const size_t row = rows_[static_cast<size_t>(index)];
  bool is_turned = false, is_stored = false;
  for (size_t i = 0; i < images_.size(); ++i) {
    const std::string path = image_path(row, i);
    try {
      const auto number = static_cast<size_t>(index) * images_.size() + i;
      reader_.write(worker, number, LooseImage(path), seeds[i], sink, images_[i]);
      is_stored = is_stored || worker.orientation == 1;
      is_turned = is_turned || worker.orientation > 1;
      if (is_turned && (is_stored || has_coordinates_)) turned_.warn(path);
    } catch (const tenon::DataError& error) {
      throw tenon::DataError(std::string(error.what()) + " (" + csv_.place(row, columns_[i]) + ")");
    }
  }
  targets_.write(row, sink);
}

}  // namespace datasets
