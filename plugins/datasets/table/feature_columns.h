// Chooses the feature columns of a table, learns their statistics from the training rows, and encodes rows as numbers.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/params.hpp>

#include "plugins/datasets/shared/csv.h"
#include "plugins/datasets/table/learned_text.h"

namespace table {

// Some rows of a file, such as the rows of a split.
struct Part {
  std::string path;  // for messages
  std::shared_ptr<const tables::Csv> csv;
  std::vector<size_t> rows;
};

struct Scale {
  double mean = 0;
  double deviation = 1;

  float apply(double value) const { return static_cast<float>((value - mean) / deviation); }
};

// Mean and standard deviation, computed like scikit-learn's StandardScaler: the variance is divided by the number of
// values. If the values are equal up to rounding, the deviation is 1.
Scale measure_scale(const std::vector<double>& values);

class FeatureColumns {
 public:
  // Declares `features`, `ignore`, `categorical`, `max_categories`, `missing` and `standardize`.
  static std::vector<tenon::Param> schema();

  // Throws tenon::DataError naming file, line and column: a missing column, a malformed number, a column without values
  // or with too many categories, or no feature. Throws tenon::Error for parameters that contradict each other.
  FeatureColumns(const Part& training, const tenon::Params& params);

  // As those that write() wrote. Throws tenon::Error if the parameters contradict them.
  FeatureColumns(TextReader& reader, const tenon::Params& params);
  void write(TextWriter& writer) const;

  // Returns the number of features per sample: one per number column, and one per category.
  size_t width() const { return width_; }

  struct Features {
    std::vector<float> numbers;  // [rows, width]
    size_t filled = 0;           // missing numbers replaced by the mean
    size_t unknown = 0;          // cells with a category that no training row has: all features are 0
    std::vector<std::string> unknown_examples = {};  // up to three: `origin "Mars"`
  };

  // Encodes a table that has the same columns in any order. Throws tenon::DataError naming file, line and column: a
  // missing column, or a cell that is not a number in a number column.
  Features encode(const Part& part) const;

  // Returns for example `9 features of 7 columns; categorical: origin (3)`.
  std::string describe() const;

 private:
  struct Column {
    std::string name;
    std::vector<std::string> categories;  // one feature each; empty: the column's numbers are the feature
    Scale scale = {};
    double fill = 0;  // replaces a missing number
  };

  void refuse_other_columns(const tenon::Params& params) const;
  Column fit(const Part& training, const std::string& name, bool is_categorical) const;
  std::vector<size_t> find_columns(const Part& part) const;
  void append_categories(const Column& column, std::string_view cell, Features& features) const;
  void append_number(const Column& column, const tables::Csv& csv, size_t row, size_t place, Features& features) const;

  std::string learned_from_;
  bool fills_missing_;
  bool standardizes_;
  size_t max_categories_;
  std::vector<Column> columns_;
  size_t width_ = 0;
};

}  // namespace table
