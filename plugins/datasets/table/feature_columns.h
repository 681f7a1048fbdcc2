// Chooses the feature columns of a table, learns their statistics from the training rows, and encodes rows as numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/error.hpp>
#include <tenon/params.hpp>

#include "plugins/datasets/shared/csv.h"

namespace table {

// What a table derives from its training rows, as one text: `table/1 2 3:age 0x1.8p+5`.
class TextWriter {
 public:
  // `form` names the component and the version of its text.
  explicit TextWriter(const std::string& form) : text_(form) {}

  void add(size_t number) { text_ += ' ' + std::to_string(number); }
  void add(double number) {
    char digits[40];
    std::snprintf(digits, sizeof digits, " %a", number);  // hexadecimal, without rounding
    text_ += digits;
  }
  void add(const std::string& bytes) { text_ += ' ' + std::to_string(bytes.size()) + ':' + bytes; }
  template <class List>
  void add_all(const List& list) {
    add(list.size());
    for (const auto& one : list) add(one);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Throws tenon::DataError unless a TextWriter of this form wrote the text, with the same sequence of calls.
class TextReader {
 public:
  TextReader(std::string_view text, const std::string& form) : left_(text) {
    if (left_.substr(0, form.size()) != form) refuse();
    left_.remove_prefix(form.size());
  }

  size_t number() {
    const std::string word = next();
    char* end = nullptr;
    const unsigned long long number = std::strtoull(word.c_str(), &end, 10);
    if (*end != '\0' || number > left_.size()) refuse();  // each counted element has a byte
    return static_cast<size_t>(number);
  }
  double floating() {
    const std::string word = next();
    char* end = nullptr;
    const double number = std::strtod(word.c_str(), &end);
    if (*end != '\0' || !std::isfinite(number)) refuse();
    return number;
  }
  std::string text() {
    const size_t colon = left_.find(':');
    if (colon == std::string_view::npos || colon > 20) refuse();
    const size_t size = std::strtoull(std::string(left_.substr(1, colon - 1)).c_str(), nullptr, 10);
    left_.remove_prefix(colon + 1);
    if (size > left_.size()) refuse();
    const std::string bytes(left_.substr(0, size));
    left_.remove_prefix(size);
    return bytes;
  }
  void finish() const {
    if (!left_.empty()) refuse();
  }

 private:
  std::string next() {
    if (left_.size() < 2 || left_.front() != ' ') refuse();
    left_.remove_prefix(1);
    const size_t end = std::min(left_.find(' '), left_.size());
    std::string word(left_.substr(0, end));
    left_.remove_prefix(end);
    if (word.empty()) refuse();
    return word;
  }
  [[noreturn]] static void refuse() {
    throw tenon::DataError(
        "the saved columns and statistics of the training data cannot be read; expected those that this version of "
        "the plugin wrote");
  }

  std::string_view left_;
};

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

  // Describes the features for tenon.preprocessing: [{"name": "columns", "columns": [...]}], where a column of numbers
  // has "mean" and "std", and one of categories has "categories".
  std::string format_steps() const;

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

  // The same of one row. `cells`: in the order of names(). Throws tenon::DataError naming the column.
  Features encode_row(const std::vector<std::string_view>& cells) const;
  std::vector<std::string> names() const;

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
  // `place()`: of the cell, for messages.
  template <class Place>
  void append(const Column& column, std::string_view cell, const Place& place, Features& features) const;
  template <class Place>
  void append_number(const Column& column, std::string_view cell, const Place& place, Features& features) const;

  std::string learned_from_;
  bool fills_missing_;
  bool standardizes_;
  size_t max_categories_;
  std::vector<Column> columns_;
  size_t width_ = 0;
};

}  // namespace table
