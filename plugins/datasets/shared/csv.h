// A table in a CSV file with a header: RFC 4180 (Y. Shafranovich, 2005), read strictly. The RFC leaves some points
// open. Here lines end with CR LF or LF. A byte order mark is skipped, and so are blank lines before the header, and in
// tables with several columns below it. Names of columns are trimmed. A first column without a name that numbers the
// rows is the index that pandas writes: it is left out, with a warning.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tables {

class Csv {
 public:
  // Throws tenon::DataError naming file, line and column: an unreadable file, a misplaced or unclosed quote, a row with
  // another number of cells than the header, an empty or duplicate name in the header, a header that is a row of data,
  // UTF-16, or no rows.
  enum class Header {
    first_row,
    none,  // the columns are named "1", "2", ...
  };
  explicit Csv(const std::string& path, char separator = ',', Header header = Header::first_row);
  // Reads from `text` instead of a file. `path` is for messages.
  Csv(std::string_view text, const std::string& path, char separator, Header header = Header::first_row);

  const std::string& path() const { return path_; }
  size_t rows() const { return lines_.size(); }
  const std::vector<std::string>& columns() const { return columns_; }

  // Returns the index of the column with that name, or no value.
  std::optional<size_t> find_column(const std::string& name) const;
  // Returns the index of the column with that name. Throws tenon::DataError listing the available columns. `parameter`
  // is the parameter that names the column.
  size_t column(const std::string& name, std::string_view parameter) const;

  std::string_view cell(size_t row, size_t column) const;
  // Advice for a table that was read with the wrong separator, such as `; set separator = "semicolon"`, or "".
  std::string advise_separator() const;

  // Returns a finite number, or throws tenon::DataError.
  float number(size_t row, size_t column) const;

  // Returns the line where the row begins, counted from 1.
  size_t line(size_t row) const { return lines_[row]; }

  // Location for messages: `photos.csv:12`, or `photos.csv:12: column "label"`.
  std::string place(size_t row) const;
  std::string place(size_t row, size_t column) const;

 private:
  void index_columns();
  void check_header() const;
  void append_row(const std::vector<std::string>& cells, size_t line);
  void append_cells(std::span<const std::string> cells, size_t line);

  std::string path_;
  std::vector<std::string> columns_;
  std::unordered_map<std::string, size_t> places_;  // index of each name in columns_
  std::string text_;                                // concatenated text of all cells
  std::vector<size_t> ends_;                        // [rows, columns], offsets into text_
  std::vector<size_t> lines_;                       // line where each row begins, from 1
  size_t header_line_ = 1;
  bool has_index_ = false;                 // the first column is left out
  std::unordered_set<std::string> index_;  // its cells
};

// Returns the number in a cell, such as 3.5, -1e-3 or +5, or no value if it is not a finite 32-bit number.
std::optional<double> parse_number(std::string_view cell);

// Converts a parameter's value to the character: comma, semicolon or tab.
char separator_named(std::string_view name);

}  // namespace tables
