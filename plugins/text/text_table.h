// Text columns of a table: tab-separated values, CSV, or JSON lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/params.hpp>

namespace text {

// The file format of the table, and the column names if the file has no header.
class TableFormat {
 public:
  // The parameters `format` and `columns`.
  static std::vector<tenon::Param> schema();

  // Throw tenon::Error for column names with a format that does not support them. `name`: one of the choices of
  // `format`.
  explicit TableFormat(const tenon::Params& params) : TableFormat(params.text("format"), params.texts("columns")) {}
  TableFormat(std::string name, std::vector<std::string> columns);

  bool is_csv() const { return name_ == "csv"; }
  bool is_json_lines() const { return name_ == "json_lines"; }
  const std::vector<std::string>& columns() const { return columns_; }

 private:
  std::string name_;
  std::vector<std::string> columns_;
};

// The texts of selected columns, row by row.
class TextTable {
 public:
  // Reads the columns `columns_to_read` from a file in UTF-8. Throws tenon::DataError with the file and line if the
  // file cannot be read, has the wrong format, lacks a column, or has no rows, or if a text is blank or not UTF-8.
  TextTable(const std::string& path, const TableFormat& format, const std::vector<std::string>& columns_to_read);

  size_t rows() const { return lines_.size(); }
  // `column` is an index into `columns_to_read`.
  std::string_view text(size_t row, size_t column) const { return texts_[row * width_ + column]; }
  const std::vector<std::string>& texts() const { return texts_; }  // [rows, columns]

  // The location of a row, such as `pairs.tsv:12`.
  std::string place(size_t row) const { return path_ + ':' + std::to_string(lines_[row]); }

 private:
  void read_separated(const TableFormat& format, const std::vector<std::string>& columns_to_read);
  void read_csv(const std::vector<std::string>& columns_to_read);
  void read_json_lines(const std::vector<std::string>& columns_to_read);
  void append(std::string_view cell, std::string_view column, size_t line);

  std::string path_;
  size_t width_;
  std::vector<std::string> texts_;
  std::vector<size_t> lines_;  // first line of each row, counted from 1
};

}  // namespace text
