// The targets in a table's rows: classes and numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <tenon/plugin.hpp>

#include "plugins/datasets/shared/csv.h"

namespace tables {

using ClassNumbers = std::map<std::string, int64_t, std::less<>>;

// Numbers the names of the parameter "classes", without blanks around them and in one Unicode form. Throws tenon::Error
// if it has a name twice.
ClassNumbers number_names(const std::vector<std::string>& classes);

// The name in each row, without blanks around it and in one Unicode form. `warns`: whether to log if that changes
// names.
std::vector<std::string> read_names(const Csv& csv, size_t column, bool warns = true);

// Throws tenon::DataError prefixed by `place` if names list several classes, such as "cat|dog". `has_separator`: the
// dataset has the parameter `label_separator`, for the message.
void refuse_listed_classes(const std::vector<std::string>& names, const std::string& place, bool has_separator = true);

// Throws tenon::DataError prefixed by `place` if two names of classes are the same value, such as "1" and "1.0". Warns
// of names that differ only in case, and of "None" or "null", which may be a missing value. `advice`: what to do about
// two names that are one class. `place_of`: where a name is; null: unknown.
void check_names(const std::vector<std::string>& names, const std::string& place, const std::string& advice,
                 const std::function<std::string(const std::string& name)>& place_of = nullptr);

// Warns if few rows share a class: the column may hold numbers to predict, or names of the rows.
void warn_of_many_classes(size_t classes, size_t rows, const std::string& place);

// The same as check_names() for the classes in a column that holds `all`, by row, or lists of classes if `all` is
// empty; warns of many classes, too.
void check_names(const Csv& csv, size_t column, const std::vector<std::string>& names,
                 const std::vector<std::string>& all);

// Logs that classes are numbered by value, if as text their order would be another one.
void report_order(const std::vector<std::string>& classes, const std::string& place);

// What a message says about a class that is none of those that there are: which one may be meant.
std::string suggest_class(const std::string& name, const std::vector<std::string>& classes);

struct NumberedClasses {
  std::vector<std::string> names;  // of the classes 0, 1, ...
  std::vector<int64_t> numbers;    // by row
};

// Numbers the classes in the column: by `classes`, or if `classes` is empty by value if all are numbers, else by first
// appearance. Throws tenon::DataError naming file, line and column if a cell is empty, a missing value, not UTF-8, not
// in `classes`, or lists several classes, and as check_names(). `lister` completes the message: what lists the classes.
NumberedClasses number_classes(const Csv& csv, size_t column, const std::vector<std::string>& classes,
                               const std::string& lister = "the parameter \"classes\" lists");

struct MarkedClasses {
  std::vector<std::string> names;
  std::vector<float> marks;  // [rows, classes]: 1 for each class of the row, else 0
};

// The classes of cells that list several, separated by `separator`. An empty cell has none. Throws tenon::DataError
// naming file, line and column for one that is not in `classes`.
MarkedClasses mark_classes(const Csv& csv, size_t column, const std::string& separator,
                           const std::vector<std::string>& classes,
                           const std::string& lister = "the parameter \"classes\" lists");

// The distinct classes in cells with several, in order of appearance. Throws tenon::DataError for a missing value.
std::vector<std::string> list_marked(const Csv& csv, size_t column, const std::string& separator);

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
