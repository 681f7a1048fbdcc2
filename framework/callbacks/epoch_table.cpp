#include "framework/callbacks/epoch_table.h"

#include <algorithm>
#include <cmath>

namespace tenon::callbacks {
namespace {

constexpr const char* kBest = " *";
constexpr size_t kGap = 2;
constexpr size_t kEpochWidth = 9;
constexpr size_t kNarrowest = 8;

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

}  // namespace

bool BestSoFar::add(const std::string& metric, double value, const std::map<std::string, int32_t>& directions) {
  const auto direction = directions.find(metric);
  if (direction == directions.end() || direction->second == 0 || std::isnan(value)) return false;
  const auto [best, is_first] = best_.emplace(metric, value);
  if (!is_first && !((value - best->second) * direction->second > 0)) return false;
  best->second = value;
  return true;
}

void EpochTable::widen_columns(const EpochRow& row) {
  auto next = columns_.begin();  // position for a cell without a column: after the previous cell's
  for (const EpochRow::Cell& cell : row.cells) {
    const size_t needed = std::max({kNarrowest, cell.name.size(), cell.text.size()});
    auto column = std::ranges::find(columns_, cell.name, &std::pair<std::string, size_t>::first);
    if (column == columns_.end() || column->second < needed) has_names_ = false;
    if (column == columns_.end()) column = columns_.emplace(next, cell.name, needed);
    column->second = std::max(column->second, needed);
    next = column + 1;
  }
}

std::string EpochTable::add(const EpochRow& row, size_t width) {
  widen_columns(row);
  if (this->width() > width) {
    has_names_ = false;
    return print_line(row);
  }
  std::string names = pad_right("epoch", kEpochWidth), line = pad_right(row.epoch, kEpochWidth);
  for (const auto& [name, column_width] : columns_) {
    names += std::string(kGap, ' ') + pad_left(name, column_width) + "  ";
    const auto cell = std::ranges::find(row.cells, name, &EpochRow::Cell::name);
    const bool is_there = cell != row.cells.end();
    line += std::string(kGap, ' ') + pad_left(is_there ? cell->text : "", column_width) +
            (is_there && cell->is_best ? kBest : "  ");
  }
  const std::string above = has_names_ ? "" : without_blanks_at_end(names);
  has_names_ = true;
  return above + without_blanks_at_end(line);
}

size_t EpochTable::width() const {
  size_t width = kEpochWidth;
  for (const auto& column : columns_) width += kGap + column.second + 2;
  return width;
}

std::string print_line(const EpochRow& row) {
  std::string line = "epoch " + row.epoch;
  for (const EpochRow::Cell& cell : row.cells) {
    // Speed and remaining time read better after the number.
    const bool is_unit = cell.name == "samples/s" || cell.name == "left";
    line += "  " + (is_unit ? cell.text + " " + cell.name : cell.name + " " + cell.text) + (cell.is_best ? kBest : "");
  }
  return line + "\n";
}

}  // namespace tenon::callbacks
