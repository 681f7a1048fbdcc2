#include "plugins/datasets/shared/image_table.h"

#include <filesystem>
#include <utility>

#include "plugins/datasets/shared/split.h"

namespace datasets {

std::vector<tenon::Param> ImageTable::schema(std::vector<tenon::Param> columns) {
  std::vector<tenon::Param> params = {
      tenon::required<tenon::Path>("path").doc("CSV file (RFC 4180) with a header and one row per sample"),
      tenon::param("separator", "comma").choices({"comma", "semicolon", "tab"}).doc("separator between cells"),
      tenon::param("root", "")
          .doc("folder that the paths of the images are relative to; itself relative to the folder of the CSV file"),
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
      images_(columns) {
  for (const std::string& parameter : columns) columns_.push_back(csv_.column(params.text(parameter), parameter));
  const Split split(params);
  for (size_t row = 0; row < csv_.rows(); ++row) {
    for (const size_t column : columns_) {
      if (csv_.cell(row, column).empty()) {
        throw tenon::DataError(csv_.place(row, column) + " is empty; expected the path of an image");
      }
    }
    if (split.has(std::string(csv_.cell(row, columns_.front())))) rows_.push_back(row);
  }
  split.check_samples(rows_.size(), path_);
  reader_.expect_images(rows_.size() * columns_.size());
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
  for (size_t i = 0; i < images_.size(); ++i) {
    const std::filesystem::path path = std::filesystem::path(root_) / csv_.cell(row, columns_[i]);
    try {
      const auto number = static_cast<size_t>(index) * images_.size() + i;
      reader_.write(worker, number, LooseImage(path.native()), seeds[i], sink, images_[i]);
    } catch (const tenon::DataError& error) {
      throw tenon::DataError(std::string(error.what()) + " (" + csv_.place(row, columns_[i]) + ")");
    }
  }
  targets_.write(row, sink);
}

}  // namespace datasets
