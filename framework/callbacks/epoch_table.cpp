#include "framework/callbacks/epoch_table.h"

#include <algorithm>

#include "framework/support/text/format_values.h"
#include "framework/support/text/terminal.h"

namespace tenon::callbacks {
namespace {

constexpr const char* kBest = " *";
constexpr size_t kGap = 2;
constexpr size_t kNarrowest = 7;        // of a number with four digits
constexpr size_t kRowsBelowNames = 20;  // so that the names are still on the screen

std::string pad_left(const std::string& text, size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

std::string pad_right(const std::string& text, size_t width) {
  return text + std::string(width > text.size() ? width - text.size() : 0, ' ');
}

std::string without_blanks_at_end(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

// "(too narrow for samples/s, train/learning_rate)" in less than `width` columns: the names that fit, and the number of
// the others.
std::string describe_hidden(const std::vector<std::string>& names, size_t width) {
  const std::string start = "(too narrow for ";
  for (size_t shown = names.size();; --shown) {
    std::string text = start;
    for (size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : ", ") + names[i];
    const auto others = static_cast<int64_t>(names.size() - shown);
    if (others > 0)
      text += shown > 0 ? " and " + std::to_string(others) + " more" : support::format_count(others, "column");
    if (text.size() + 1 < width) return text + ")\n";
    if (shown == 0) return "";
  }
}

}  // namespace

void EpochTable::widen_columns(const EpochRow& row) {
  if (row.epoch.size() > epoch_width_) has_names_ = false;
  epoch_width_ = std::max(epoch_width_, row.epoch.size());
  auto next = columns_.begin();  // position for a cell without a column: after the previous cell's
  for (const EpochRow::Cell& cell : row.cells) {
    const size_t needed = std::max({kNarrowest, cell.name.size(), cell.text.size()});
    auto column = std::ranges::find(columns_, cell.name, &Column::name);
    if (column == columns_.end())
      column = columns_.insert(next, {cell.name, 0, cell.importance, cell.is_optional, false, false});
    if (column->width < needed || (cell.is_best && !column->has_mark)) has_names_ = false;
    column->width = std::max(column->width, needed);
    column->has_mark = column->has_mark || cell.is_best;
    next = column + 1;
  }
}

// Shows the most important columns that fit.
void EpochTable::select_columns(size_t width) {
  std::vector<Column*> by_importance;
  for (Column& column : columns_) by_importance.push_back(&column);
  std::ranges::stable_sort(by_importance, {}, &Column::importance);
  size_t used = epoch_width_ + 1;  // one column stays free because some terminals would wrap
  for (Column* const column : by_importance) {
    const size_t needed = kGap + column->width + (column->has_mark ? 2 : 0);
    const bool fits = used + needed <= width;
    if (fits) used += needed;
    if (fits != column->is_shown) has_names_ = false;
    column->is_shown = fits;
  }
}

std::string EpochTable::add(const EpochRow& row, size_t width) {
  widen_columns(row);
  select_columns(width);
  const bool needs_names = !has_names_ || rows_ >= kRowsBelowNames;
  rows_ = needs_names ? 1 : rows_ + 1;
  has_names_ = true;
  return (needs_names ? format_names(width) : "") + format_values(row);
}

std::string EpochTable::format_names(size_t width) const {
  std::string names = pad_right("epoch", epoch_width_);
  std::vector<std::string> hidden;
  for (const Column& column : columns_) {
    if (column.is_shown)
      names += std::string(kGap, ' ') + pad_left(column.name, column.width) + (column.has_mark ? "  " : "");
    else if (!column.is_optional)
      hidden.push_back(column.name);
  }
  names.erase(names.find_last_not_of(' ') + 1);
  return (hidden.empty() ? "" : describe_hidden(hidden, width)) +
         (has_colours_ ? support::add_style(names, support::Style::bold) : names) + "\n";
}

std::string EpochTable::format_values(const EpochRow& row) const {
  std::string line = pad_right(row.epoch, epoch_width_);
  for (const Column& column : columns_) {
    if (!column.is_shown) continue;
    const auto cell = std::ranges::find(row.cells, column.name, &EpochRow::Cell::name);
    const bool is_there = cell != row.cells.end();
    const bool is_best = is_there && cell->is_best;
    std::string text = pad_left(is_there ? cell->text : "", column.width);
    if (column.has_mark) text += is_best ? kBest : "  ";
    line += std::string(kGap, ' ') + (has_colours_ && is_best ? support::add_style(text, support::Style::green) : text);
  }
  return without_blanks_at_end(line);
}

std::string format_line(const EpochRow& row, bool has_colours) {
  std::string line = "epoch " + row.epoch;
  for (const EpochRow::Cell& cell : row.cells) {
    // Speed reads better after the number.
    std::string text = cell.name == "samples/s" ? format_rate(cell.text) : cell.name + " " + cell.text;
    if (cell.is_best) text += kBest;
    line += "  " + (has_colours && cell.is_best ? support::add_style(text, support::Style::green) : text);
  }
  return line + "\n";
}

std::string format_rate(const std::string& number) { return number + (number == "1" ? " sample/s" : " samples/s"); }

}  // namespace tenon::callbacks
