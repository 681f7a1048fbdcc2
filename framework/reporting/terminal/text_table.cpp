#include "framework/reporting/terminal/text_table.h"

#include <algorithm>
#include <cstdio>

#include "framework/support/check.h"

namespace tenon::reporting {

namespace {

// Counts UTF-8 code points. Each takes one column.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char letter) { return (static_cast<unsigned char>(letter) & 0xC0) != 0x80; }));
}

}  // namespace

void TextTable::add(std::vector<std::string> cells) {
  TENON_CHECK(cells.size() == columns_.size(), cells.size() << " cells in " << columns_.size() << " columns");
  rows_.push_back(std::move(cells));
}

std::string TextTable::print(const std::string& margin) const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  std::string text;
  for (const auto& row : rows_) {
    std::string line = margin;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - width_of(row[i]), ' ');
      line += (i == 0 ? "" : "  ") + (columns_[i] == Align::left ? row[i] + blanks : blanks + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string print_count(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t i = text.size(); i > 3;) text.insert(i -= 3, ",");
  return text;
}

}  // namespace tenon::reporting
