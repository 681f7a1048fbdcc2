// Writes what a program shows to standard output, and draws tables for the terminal.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/formats/strings.h"
#include "framework/support/text/format.h"
#include "framework/support/text/format_values.h"
#include "framework/support/text/terminal.h"

namespace tenon::reporting {

// Text from plugins, files and paths is safe here: see support::escape_control_characters(). Errors are not reported:
// the program checks standard output at its end. JSON ends with a line feed; `indent` is that of
// nlohmann::json::dump().
void write_output_text(std::string_view text);
// Wraps each line that is wider than the terminal.
void write_wrapped_output_text(const std::string& text);
// For text that is already safe, such as that of TextTable::format_within(), which may have colours.
void write_safe_output_text(std::string_view text);
template <class... Values>
void write_output(fmt::format_string<Values...> format, Values&&... values) {
  write_output_text(fmt::format(format, std::forward<Values>(values)...));
}
void write_output_json(const nlohmann::ordered_json& json, int indent = 2);

class TextTable {
 public:
  // `columns`: l or r for each column, which is aligned left or right: "lrr".
  explicit TextTable(std::string columns) : columns_(std::move(columns)) {}

  // REQUIRES: as many cells as columns. `styles`: of the first cells; others are plain. format() ignores them.
  void add(std::vector<std::string> cells, std::vector<support::Style> styles = {});

  // Returns each row on a line after `margin`. Columns are two blanks apart. Lines have no trailing blanks.
  std::string format(const std::string& margin) const;

  // Returns the columns that fit into `width` (0: no limit), the first ones of `importance`, in their order. The first
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

  std::string columns_;
  std::vector<Row> rows_;
};

using formats::join;
using support::group_digits;

}  // namespace tenon::reporting
