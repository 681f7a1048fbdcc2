// Texts of a table: tab-separated values, CSV, or JSON lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/params.hpp>

namespace text {

// How the table is written, and the names of its columns where the file does not say them.
class TableFormat {
 public:
  // `format` and `columns`.
  static std::vector<tenon::Param> schema();

  // Throws tenon::Error for names of columns that the format has no place for.
  explicit TableFormat(const tenon::Params& params);

  bool is_csv() const { return name_ == "csv"; }
  bool is_json_lines() const { return name_ == "json_lines"; }
  const std::vector<std::string>& columns() const { return columns_; }

 private:
  std::string name_;
  std::vector<std::string> columns_;
};

// The texts of some columns, row by row.
class TextTable {
 public:
  // Reads the columns called `wanted` from a file in UTF-8. Throws tenon::DataError naming file and line: it cannot be
  // read, is not of its format, lacks a column, has no row, or a text is blank or no UTF-8.
  TextTable(const std::string& path, const TableFormat& format, const std::vector<std::string>& wanted);

  size_t rows() const { return lines_.size(); }
  // `column` counts in `wanted`.
  std::string_view text(size_t row, size_t column) const { return texts_[row * width_ + column]; }
  const std::vector<std::string>& texts() const { return texts_; }  // [rows, columns]

  // `pairs.tsv:12`.
  std::string place(size_t row) const { return path_ + ':' + std::to_string(lines_[row]); }

 private:
  void read_separated(const TableFormat& format, const std::vector<std::string>& wanted);
  void read_csv(const std::vector<std::string>& wanted);
  void read_json_lines(const std::vector<std::string>& wanted);
  void append(std::string_view cell, std::string_view column, size_t line);

  std::string path_;
  size_t width_;
  std::vector<std::string> texts_;
  std::vector<size_t> lines_;  // by row: where it begins, from 1
};

}  // namespace text
