// The targets in a table's rows: classes and numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/plugin.hpp>

#include "plugins/datasets/shared/csv.h"

namespace tables {

// Returns the class number of each row in the column: the index in `classes`, or the order of first appearance if
// `classes` is empty. Throws tenon::DataError naming file, line and column if a cell is empty or not in `classes`.
// `lister` completes the message: what lists the classes.
std::vector<int64_t> number_classes(const Csv& csv, size_t column, const std::vector<std::string>& classes,
                                    const std::string& lister = "the parameter \"classes\" lists");

class TableTargets {
 public:
  // Declares `labels`, `classes` and `targets`.
  static std::vector<tenon::Param> schema();

  // `taken` holds the names of other fields. Throws tenon::DataError for errors in the table, and tenon::Error for
  // parameters that contradict each other: a duplicate field name, classes for several columns, or neither labels nor
  // targets.
  TableTargets(const Csv& csv, const tenon::Params& params, const std::vector<std::string>& taken);

  // Returns one int64 field per label column, with the column's name. If there are target columns, also `targets`,
  // float32 [k].
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
