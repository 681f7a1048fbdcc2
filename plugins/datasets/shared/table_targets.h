// The targets in a table's rows: classes and numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/plugin.hpp>

#include "plugins/datasets/shared/csv.h"

namespace tables {

struct NumberedClasses {
  std::vector<std::string> names;  // of the classes 0, 1, ...
  std::vector<int64_t> numbers;    // by row
};

// Numbers the classes in the column: by `classes`, or by first appearance if `classes` is empty. Throws
// tenon::DataError naming file, line and column if a cell is empty or not in `classes`. `lister` completes the message:
// what lists the classes.
NumberedClasses number_classes(const Csv& csv, size_t column, const std::vector<std::string>& classes,
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
  std::vector<tenon::ClassNames> class_names() const;
  void write(size_t row, const tenon::Sink& sink) const;

 private:
  struct Labels {
    std::string column;
    NumberedClasses classes;
  };

  std::vector<Labels> labels_;
  size_t target_columns_;
  std::vector<float> targets_;  // [rows, target columns]
};

}  // namespace tables
