#include "plugins/datasets/shared/image_table.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "framework/formats/unicode.h"
#include "plugins/datasets/shared/find_files.h"
#include "plugins/datasets/shared/join_params.h"
#include "plugins/datasets/shared/split.h"
#include "plugins/datasets/shared/turned_images.h"
#include "plugins/datasets/shared/warn.h"

namespace datasets {

std::vector<tenon::Param> ImageTable::schema(const std::vector<tenon::Param>& columns) {
  const std::vector<tenon::Param> of_file = {
      tenon::required<tenon::Path>("path").doc("CSV file (RFC 4180) with a header and one row per sample"),
      tenon::param("separator", "comma").choices({"comma", "semicolon", "tab"}).doc("separator between cells"),
      tenon::param("root", "")
          .doc("folder that the paths of the images are relative to; itself relative to the folder of the CSV file"),
      ListedPaths::parameter(),
  };
  return join_params({of_file, columns, tables::TableTargets::schema(), Split::schema(), tenon::draft::image_params()});
}

ImageTable::ImageTable(const tenon::Params& params, const std::vector<std::string>& columns)
    : path_(params.path("path")),
      root_((std::filesystem::path(path_).parent_path() / params.text("root")).native()),
      csv_(path_, tables::separator_named(params.text("separator"))),
      targets_(csv_, params, columns),
      pipeline_(params),
      images_(columns),
      turned_(have_coordinates(params.texts("targets")) ? "coordinates among the targets" : "") {
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
  if (columns.size() == 1) warn_of_labels(params.texts("labels"));
  examine(params.texts("targets"));
}

std::string ImageTable::image_path(size_t row, size_t column) const {
  return (std::filesystem::path(root_) / csv_.cell(row, columns_[column])).native();
}

// Warns if rows give an image different labels.
void ImageTable::warn_of_labels(const std::vector<std::string>& labels) const {
  std::vector<size_t> columns;
  for (const std::string& label : labels) columns.push_back(csv_.column(label, "labels"));
  std::unordered_map<std::string_view, size_t> known;  // the first row of each path
  size_t count = 0;
  std::string first;
  for (const size_t row : rows_) {
    const auto [earlier, is_new] = known.emplace(csv_.cell(row, columns_.front()), row);
    const auto differs = [&, other = earlier->second](size_t column) {
      return formats::clean_name(csv_.cell(row, column)) != formats::clean_name(csv_.cell(other, column));
    };
    const auto column = is_new ? columns.end() : std::find_if(columns.begin(), columns.end(), differs);
    if (column == columns.end() || ++count > 1) continue;
    first = std::string(earlier->first) + " is \"" + std::string(csv_.cell(earlier->second, *column)) + "\" in line " +
            std::to_string(csv_.line(earlier->second)) + " and \"" + std::string(csv_.cell(row, *column)) +
            "\" in line " + std::to_string(csv_.line(row));
  }
  if (count == 0) return;
  warn(path_ + ": " + std::to_string(count) + (count == 1 ? " row gives" : " rows give") +
       " an image another label than an earlier row: " + first +
       "; expected one label per image; remove the wrong rows, or list several classes in a cell and set "
       "label_separator");
}

void ImageTable::examine(const std::vector<std::string>& targets) const {
  const size_t columns = columns_.size();
  turned_.examine(pipeline_, rows_.size(), columns, [&](size_t number) {
    return std::make_unique<tenon::draft::ImageFile>(image_path(rows_[number / columns], number % columns));
  });
  if (!turned_.have_unturned()) return;
  const auto has_fractions = [&](const std::string& target) {
    return std::all_of(rows_.begin(), rows_.end(), [&, column = csv_.column(target, "targets")](size_t row) {
      const float number = csv_.number(row, column);
      return number >= 0 && number <= 1;
    });
  };
  turned_.warn_of_transforms(pipeline_, std::all_of(targets.begin(), targets.end(), has_fractions));
}

std::vector<tenon::Field> ImageTable::fields() const {
  std::vector<tenon::Field> fields;
  for (const std::string& image : images_) fields.push_back(pipeline_.field(image, "the image"));
  for (tenon::Field& field : targets_.fields()) fields.push_back(std::move(field));
  return fields;
}

std::vector<tenon::Preprocessing> ImageTable::preprocessing() const {
  std::vector<tenon::Preprocessing> fields;
  for (const std::string& image : images_) fields.push_back(pipeline_.preprocessing(image));
  return fields;
}

void ImageTable::write(tenon::draft::ImageWorker& worker, int64_t index, const std::vector<uint64_t>& seeds,
                       const tenon::Sink& sink) const {
  const size_t row = rows_[static_cast<size_t>(index)];
  TurnedImages::Sample sample;
  for (size_t i = 0; i < images_.size(); ++i) {
    const tenon::draft::ImageFile image(image_path(row, i), csv_.place(row, columns_[i]));
    turned_.check(sample, worker.write(image, seeds[i], sink, images_[i]), image);
  }
  targets_.write(row, sink);
}

}  // namespace datasets
