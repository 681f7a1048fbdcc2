// What a table says of each row besides its images: classes and numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/plugin.hpp>

#include "plugins/datasets/shared/csv.h"

namespace tables {

// By row the number of the class that the column names: its place in `classes`, or where that is empty, in the order of
// first appearance. Throws tenon::DataError naming file, line and column: a cell that is empty or not among `classes`,
// with `lister` as what lists them.
std::vector<int64_t> number_classes(const Csv& csv, size_t column, const std::vector<std::string>& classes,
                                    const std::string& lister = "the parameter \"classes\" lists");

class TableTargets {
 public:
  // `labels`, `classes` and `targets`.
  static std::vector<tenon::Param> schema();

  // `taken`: names of other fields. Throws tenon::DataError for what the table holds, tenon::Error for parameters that
  // contradict each other: a field's name twice, classes for several columns, neither labels nor targets.
  TableTargets(const Csv& csv, const tenon::Params& params, const std::vector<std::string>& taken);

  // An int64 of each label column, named as it is; `targets`, float32 [k], if there are such columns.
  std::vector<tenon::Field> fields() const;
  void write(size_t row, const tenon::Sink& sink) const;

 private:
  struct Labels {
    std::string column;
    std::vector<int64_t> numbers;  // by row
  };

  std::vector<Labels> labels_;
  size_t target_columns_;
  std::vector<float> targets_;  // [rows, target columns]
};

}  // namespace tables
