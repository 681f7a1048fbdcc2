#include "framework/reporting/terminal/write_output.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>

#include "framework/formats/unicode.h"
#include "framework/support/diagnostics/check.h"
#include "framework/support/text/printable.h"
#include "framework/support/text/terminal.h"

namespace tenon::reporting {

namespace {

const std::string kGap = "  ";

// Counts UTF-8 code points. Each takes one column.
size_t width_of(const std::string& text) {
  return text.size() - static_cast<size_t>(std::ranges::count_if(text, formats::is_continuation));
}

// "...s/2026-11-21T11-30-05": the end of a text that is too wide. The ends of paths are what differs.
std::string keep_end(const std::string& text, size_t width) {
  constexpr size_t kDots = 3;
  if (width_of(text) <= width) return text;
  size_t begin = text.size();
  for (size_t kept = 0; begin > 0 && kept + kDots < width; ++kept) do
      --begin;
    while (begin > 0 && formats::is_continuation(text[begin]));
  return std::string(std::min(kDots, width), '.') + text.substr(begin);
}

// `shown`: the text with escape sequences, which take no columns.
std::string align(const std::string& text, const std::string& shown, size_t width, char side) {
  const size_t used = width_of(text);
  const std::string blanks(width > used ? width - used : 0, ' ');
  return side == 'l' ? shown + blanks : blanks + shown;
}

std::string trim(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

void write_output_text(std::string_view text) { write_safe_output_text(support::escape_control_characters(text)); }

void write_wrapped_output_text(const std::string& text) {
  const size_t width = support::find_terminal_width(stdout);
  write_output_text(
      support::wrap_lines(text, width > 0 ? width - 1 : 0));  // some terminals would wrap in the last column
}

void write_safe_output_text(std::string_view text) {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stdout));
}

void write_output_json(const nlohmann::ordered_json& json, int indent) {
  write_output_text(json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void TextTable::add(std::vector<std::string> cells, std::vector<support::Style> styles) {
  TENON_CHECK(cells.size() == columns_.size(), cells.size() << " cells in " << columns_.size() << " columns");
  styles.resize(cells.size(), support::Style::plain);
  for (std::string& cell : cells) cell = support::escape_control_characters(cell);
  rows_.push_back({std::move(cells), std::move(styles)});
}

std::vector<size_t> TextTable::measure() const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (const Row& row : rows_)
    for (size_t i = 0; i < row.cells.size(); ++i) widths[i] = std::max(widths[i], width_of(row.cells[i]));
  return widths;
}

std::string TextTable::format(const std::string& margin) const {
  const std::vector<size_t> widths = measure();
  std::string text;
  for (const Row& row : rows_) {
    std::string line = margin;
    for (size_t i = 0; i < row.cells.size(); ++i)
      line += (i == 0 ? "" : kGap) + align(row.cells[i], row.cells[i], widths[i], columns_[i]);
    text += trim(line) + "\n";
  }
  return text;
}

std::string TextTable::list_hidden(const std::vector<bool>& is_shown, size_t width) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < is_shown.size(); ++i)
    if (!is_shown[i]) names.push_back(rows_.front().cells[i]);
  if (names.empty()) return "";
  for (size_t shown = names.size();; --shown) {
    std::string text = "(too narrow for " + join(std::span(names).first(shown));
    if (shown < names.size()) text += (shown > 0 ? " and " : "") + std::to_string(names.size() - shown) + " more";
    if (width_of(text) < width) return text + ")\n";
    if (shown == 0) return "";
  }
}

std::string TextTable::format_within(size_t width, const std::vector<size_t>& importance, bool has_colours) const {
  TENON_CHECK(!rows_.empty() && importance.size() == columns_.size(), "a table has a row and the order of its columns");
  std::vector<size_t> widths = measure();
  std::vector<bool> is_shown(columns_.size(), width == 0);
  size_t used = 0;
  for (const size_t i : importance) {
    if (width == 0) break;
    if (i == importance.front()) widths[i] = std::min(widths[i], width);
    const size_t needed = widths[i] + (used == 0 ? 0 : kGap.size());
    is_shown[i] = used + needed <= width;
    if (is_shown[i]) used += needed;
  }
  std::string text = list_hidden(is_shown, width);
  for (const Row& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.cells.size(); ++i) {
      if (!is_shown[i]) continue;
      const std::string cell = keep_end(row.cells[i], widths[i]);
      const support::Style style = &row == &rows_.front() ? support::Style::bold : row.styles[i];
      line += (line.empty() ? "" : kGap) +
              align(cell, has_colours ? support::add_style(cell, style) : cell, widths[i], columns_[i]);
    }
    text += trim(line) + "\n";
  }
  return text;
}

}  // namespace tenon::reporting
