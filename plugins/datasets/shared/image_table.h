// A CSV file with one row per sample: paths of images, and their targets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/draft/images.hpp>
#include <tenon/plugin.hpp>

#include "plugins/datasets/shared/csv.h"
#include "plugins/datasets/shared/table_targets.h"
#include "plugins/datasets/shared/turned_images.h"

namespace datasets {

class ImageTable {
 public:
  // `columns` follow the file's parameters. Each is a parameter that names a column with paths, and is the name of the
  // image field.
  static std::vector<tenon::Param> schema(const std::vector<tenon::Param>& columns);

  // `columns` are the names of these parameters. Throws tenon::Error or tenon::DataError naming file, line and column.
  ImageTable(const tenon::Params& params, const std::vector<std::string>& columns);

  std::vector<tenon::Field> fields() const;
  std::vector<tenon::ClassNames> class_names() const { return targets_.class_names(); }
  std::vector<tenon::Preprocessing> preprocessing() const;
  int64_t size() const { return static_cast<int64_t>(rows_.size()); }
  // The path in the first of the columns, as in the file.
  std::string name(int64_t index) const {
    return std::string(csv_.cell(rows_[static_cast<size_t>(index)], columns_.front()));
  }
  tenon::draft::ImageWorker open_worker() const { return pipeline_.open_worker(); }

  // Writes the images and the targets of the sample. `seeds` has one seed per image.
  void write(tenon::draft::ImageWorker& worker, int64_t index, const std::vector<uint64_t>& seeds,
             const tenon::Sink& sink) const;

 private:
  std::string image_path(size_t row, size_t column) const;
  void warn_of_labels(const std::vector<std::string>& labels) const;
  void examine(const std::vector<std::string>& targets) const;

  std::string path_;
  std::string root_;
  tables::Csv csv_;
  tables::TableTargets targets_;
  tenon::draft::ImagePipeline pipeline_;
  std::vector<std::string> images_;  // fields with images
  std::vector<size_t> columns_;      // columns with their paths
  std::vector<size_t> rows_;         // rows of the split
  TurnedImages turned_;
};

}  // namespace datasets
