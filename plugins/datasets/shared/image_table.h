// A CSV file with a row for each sample: paths of images, and what belongs to them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/plugin.hpp>

#include "plugins/datasets/shared/csv.h"
#include "plugins/datasets/shared/image_reader.h"
#include "plugins/datasets/shared/table_targets.h"

namespace datasets {

class ImageTable {
 public:
  // `columns` stands behind the file's own parameters; each names a column with paths, and the field of its images.
  static std::vector<tenon::Param> schema(std::vector<tenon::Param> columns);

  // `columns` are the parameters' names. Throws tenon::Error or tenon::DataError that names file, line and column.
  ImageTable(const tenon::Params& params, const std::vector<std::string>& columns);

  std::vector<tenon::Field> fields() const;
  int64_t size() const { return static_cast<int64_t>(rows_.size()); }
  ImageReader::Worker open_worker() const { return reader_.open_worker(); }

  // Writes the images, with a seed for each, and the targets of the sample.
  void write(ImageReader::Worker& worker, int64_t index, const std::vector<uint64_t>& seeds,
             const tenon::Sink& sink) const;

 private:
  std::string path_;
  std::string root_;
  tables::Csv csv_;
  tables::TableTargets targets_;
  ImageReader reader_;
  std::vector<std::string> images_;  // the fields
  std::vector<size_t> columns_;      // of their paths
  std::vector<size_t> rows_;         // of the split
};

}  // namespace datasets
