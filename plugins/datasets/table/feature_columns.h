// Which columns of a table are features, what the rows for training say of them, and any row by that as numbers.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/params.hpp>

#include "plugins/datasets/shared/csv.h"

namespace table {

// Some rows of a file, such as those of a split.
struct Part {
  std::string path;  // for messages
  std::shared_ptr<const tables::Csv> csv;
  std::vector<size_t> rows;
};

// Each once: by value where all are integers, else in byte order.
std::vector<std::string> sort_names(std::vector<std::string> names);

struct Scale {
  double mean = 0;
  double deviation = 1;

  float apply(double value) const { return static_cast<float>((value - mean) / deviation); }
};

// Mean and standard deviation as StandardScaler of scikit-learn has them: the variance is that of these values, divided
// by their number; where they are all the same but for rounding, the deviation is 1.
Scale measure_scale(const std::vector<double>& values);

class FeatureColumns {
 public:
  // `features`, `ignore`, `categorical`, `max_categories`, `missing` and `standardize`.
  static std::vector<tenon::Param> schema();

  // Throws tenon::DataError naming file, line and column: a column that is not there, holds a number gone wrong, no
  // value at all or too many categories, or no feature; and tenon::Error for parameters that contradict each other.
  FeatureColumns(const Part& training, const tenon::Params& params);

  // Features of a sample: one of each column of numbers, one of each category.
  size_t width() const { return width_; }

  struct Features {
    std::vector<float> numbers;  // [rows, width]
    size_t filled = 0;           // cells without a number that were given the mean
    size_t unknown = 0;          // cells whose category no row for training has: all its features are 0
  };

  // Of a table that has the same columns in any order. Throws tenon::DataError naming file, line and column: a column
  // that is not there, or a cell that is no number where numbers are expected.
  Features encode(const Part& part) const;

  // `9 features of 7 columns; of categories: origin (3)`.
  std::string describe() const;

 private:
  struct Column {
    std::string name;
    std::vector<std::string> categories;  // one feature each; none: the column's numbers are the feature
    Scale scale = {};
    double fill = 0;  // in place of a missing number
  };

  Column learn(const Part& training, const std::string& name, bool is_categorical) const;
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
