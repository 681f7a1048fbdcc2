// A table as a CSV file: RFC 4180 (Y. Shafranovich, 2005) with a header, read strictly. What the RFC leaves open: lines
// end with CR LF or LF, a byte order mark is passed over, and blank lines are left out where there are several columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tables {

class Csv {
 public:
  // Throws tenon::DataError naming file, line and column: a file that cannot be read, quotes at a wrong place or never
  // closed, a row with another number of cells than the header, a header with an empty name or the same name twice, or
  // no row at all.
  explicit Csv(const std::string& path, char separator = ',');
  // The same of a text; `path` is for messages.
  Csv(std::string_view text, const std::string& path, char separator);

  size_t rows() const { return lines_.size(); }
  const std::vector<std::string>& columns() const { return columns_; }

  // The column of that name. Throws tenon::DataError that says which there are; `parameter` is what asked for it.
  size_t column(std::string_view name, std::string_view parameter) const;

  std::string_view cell(size_t row, size_t column) const;
  // A finite number, or throws tenon::DataError.
  float number(size_t row, size_t column) const;

  // The line that the row begins at, from 1.
  size_t line(size_t row) const { return lines_[row]; }

  // `photos.csv:12`, and `photos.csv:12: column "label"`.
  std::string place(size_t row) const;
  std::string place(size_t row, size_t column) const;

 private:
  void append_row(const std::vector<std::string>& cells, size_t line);

  std::string path_;
  std::vector<std::string> columns_;
  std::string text_;           // of all cells, one after the other
  std::vector<size_t> ends_;   // [rows, columns], into it
  std::vector<size_t> lines_;  // by row: where it begins, from 1
};

// The character that a parameter names: comma, semicolon or tab.
char separator_named(std::string_view name);

}  // namespace tables
