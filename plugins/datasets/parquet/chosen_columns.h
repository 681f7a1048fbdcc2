// Chooses the columns that are read, and the fields that they become.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <tenon/plugin.hpp>

#include "plugins/datasets/parquet/column_classes.h"
#include "plugins/datasets/parquet/parquet_file.h"

namespace parquet_dataset {

struct ChosenField {
  enum class Kind {
    numbers,  // a number or a list
    image,
    classes,  // texts that are names of classes
    tokens,   // texts
    stack,    // the numbers of several columns
    marks,    // a list of class numbers or of names of classes: 1 for each of them
  };
  std::string name;
  Kind kind;
  std::vector<size_t> columns = {};       // indices into ChosenColumns::columns; several for a stack
  std::vector<std::string> classes = {};  // names; for `classes` empty until the texts are read
};

class ChosenColumns {
 public:
  // Declares `columns`, `labels`, `classes`, `multi_hot`, `features`, `targets` and `text`.
  static std::vector<tenon::Param> schema();

  // Throws tenon::DataError naming the file for a column that it lacks or that has an unsuitable type, and tenon::Error
  // for parameters that contradict each other.
  ChosenColumns(const ParquetFile& file, const std::map<std::string, Feature>& features, const tenon::Params& params);

  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<ChosenField>& fields() const { return fields_; }
  std::vector<ChosenField>& fields() { return fields_; }
  // Returns for example `; left out: "id" (string)`, or "".
  const std::string& describe_left_out() const { return left_out_; }
  // Advice for columns that are probably meant to be read: one line for each kind of column.
  const std::vector<std::string>& warnings() const { return warnings_; }

  // Returns the indices of the columns in another file, in the same order. Throws tenon::DataError naming both files if
  // it lacks one of them, or has another type or other classes.
  std::vector<size_t> find_in(const ParquetFile& file, const std::map<std::string, Feature>& features) const;

 private:
  const Column& find(const std::string& name, const char* parameter) const;
  size_t take(const Column& column, const char* parameter);
  void add_field(ChosenField field);
  void add_column(const std::string& name, const char* parameter);
  void add_label(const std::string& name, const std::vector<std::string>& classes);
  void add_marks(const std::string& name, const std::vector<std::string>& classes);
  void add_text(const std::string& name);
  void add_stack(const char* parameter, const std::vector<std::string>& names);
  void add_default_columns(const tenon::Params& params);
  std::vector<std::string> classes_of(const Column& column) const;

  const ParquetFile& file_;
  std::map<std::string, Feature> features_;
  std::vector<Column> columns_;
  std::vector<ChosenField> fields_;
  std::set<std::string> index_;  // columns of the index of pandas
  std::string left_out_;
  std::vector<std::string> warnings_;
};

}  // namespace parquet_dataset
