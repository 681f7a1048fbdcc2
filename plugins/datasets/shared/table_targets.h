// The targets in a table's rows: classes and numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/plugin.hpp>

#include "plugins/datasets/shared/csv.h"
#include "plugins/datasets/shared/label_columns.h"

namespace tables {

class TableTargets {
 public:
  // Declares `labels`, `classes`, `label_separator` and `targets`.
  static std::vector<tenon::Param> schema();

  // `taken` holds the names of other fields. Throws tenon::DataError for errors in the table, and tenon::Error for
  // parameters that contradict each other: a duplicate field name, classes for several columns, or neither labels nor
  // targets.
  TableTargets(const Csv& csv, const tenon::Params& params, const std::vector<std::string>& taken);

  // Returns one int64 field per label column, with the column's name; with `label_separator` float32 [classes]. If
  // there are target columns, also `targets`, float32 [k].
  std::vector<tenon::Field> fields() const;
  std::vector<tenon::ClassNames> class_names() const;
  void write(size_t row, const tenon::Sink& sink) const;

 private:
  struct Labels {
    std::string column;
    NumberedClasses classes;
  };

  std::vector<Labels> labels_;
  std::string marked_column_;  // in place of labels_ with `label_separator`, else empty
  MarkedClasses marked_;
  size_t target_columns_;
  std::vector<float> targets_;  // [rows, target columns]
};

}  // namespace tables
