// A text table for the terminal.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "framework/support/text/terminal.h"

namespace tenon::reporting {

class TextTable {
 public:
  enum class Align { left, right };

  explicit TextTable(std::vector<Align> columns) : columns_(std::move(columns)) {}

  // REQUIRES: as many cells as columns. `styles`: of the first cells; others are plain. print() ignores them.
  void add(std::vector<std::string> cells, std::vector<support::Style> styles = {});

  // Prints each row on a line after `margin`. Columns are two blanks apart. Lines have no trailing blanks.
  std::string print(const std::string& margin) const;

  // Prints the columns that fit into `width` (0: no limit), the first ones of `importance`, in their order. The first
  // row has the names of the columns: a line above it lists those that are left out. The column that comes first in
  // `importance` is always shown: if it is too wide, its cells end with their last letters. The result is safe for a
  // terminal, see support::escape_control_characters(), and has escape sequences if `has_colours`.
  // REQUIRES: a row; each column once in `importance`.
  std::string format_within(size_t width, const std::vector<size_t>& importance, bool has_colours) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    std::vector<support::Style> styles;
  };

  std::vector<size_t> measure() const;
  std::string list_hidden(const std::vector<bool>& is_shown, size_t width) const;

  std::vector<Align> columns_;
  std::vector<Row> rows_;
};

// Prints 1234567 as "1,234,567".
std::string group_digits(uint64_t number);

}  // namespace tenon::reporting
