#include "plugins/datasets/shared/csv.h"

#include <charconv>
#include <cmath>

#include <tenon/error.hpp>

#include "plugins/regular_file.h"

namespace tables {
namespace {

// Reads a text cell by cell.
class Reader {
 public:
  Reader(std::string_view text, const std::string& path, char separator)
      : text_(text), path_(path), separator_(separator) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  }

  bool at_end() const { return at_ == text_.size(); }
  size_t line() const { return line_; }

  // Reads the next row. The storage of `cells` is reused.
  void read_row(std::vector<std::string>& cells) {
    cells.clear();
    do {
      cells.push_back(next_is('"') ? read_quoted(cells.size() + 1) : read_plain(cells.size() + 1));
    } while (take(separator_));
    take_line_end();
  }

 private:
  bool next_is(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool take(char c) {
    if (!next_is(c)) return false;
    ++at_;
    return true;
  }

  bool at_line_end() const {
    return at_end() || next_is('\n') || (next_is('\r') && (at_ + 1 == text_.size() || text_[at_ + 1] == '\n'));
  }

  void take_line_end() {
    take('\r');
    if (take('\n')) ++line_;
  }

  std::string read_plain(size_t cell) {
    const size_t begin = at_;
    while (!at_line_end() && !next_is(separator_)) {
      if (next_is('"')) refuse(cell, "a quote within an unquoted cell; put the cell in quotes, and double the quote");
      if (next_is('\r') || next_is('\0')) refuse(cell, "a control character; expected text");
      ++at_;
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string read_quoted(size_t cell) {
    const size_t first_line = line_;
    std::string value;
    for (++at_;; ++at_) {
      if (at_end()) {
        line_ = first_line;
        refuse(cell, "an unclosed quote");
      }
      if (next_is('"')) {
        ++at_;
        if (!next_is('"')) break;
      }
      if (next_is('\n')) ++line_;
      value += text_[at_];
    }
    if (!at_line_end() && !next_is(separator_)) refuse(cell, "text after the closing quote; expected the next cell");
    return value;
  }

  [[noreturn]] void refuse(size_t cell, const char* what) const {
    throw tenon::DataError(path_ + ':' + std::to_string(line_) + ": cell " + std::to_string(cell) + ": " + what);
  }

  std::string_view text_;
  const std::string& path_;
  char separator_;
  size_t at_ = 0;
  size_t line_ = 1;
};

}  // namespace

Csv::Csv(const std::string& path, char separator)
    : Csv(plugins::read_whole(path, "a CSV file with a header"), path, separator) {}

Csv::Csv(std::string_view text, const std::string& path, char separator) : path_(path) {
  Reader reader(text, path_, separator);
  reader.read_row(columns_);
  index_columns();
  std::vector<std::string> cells;
  while (!reader.at_end()) {
    const size_t line = reader.line();
    reader.read_row(cells);
    const bool is_blank = cells.size() == 1 && cells.front().empty();
    if (!is_blank || columns_.size() == 1) append_row(cells, line);
  }
  if (lines_.empty()) throw tenon::DataError(path_ + ": has no row below its header; expected a row for each sample");
}

void Csv::index_columns() {
  for (size_t i = 0; i < columns_.size(); ++i) {
    const std::string place = path_ + ":1: column " + std::to_string(i + 1);
    if (columns_[i].empty()) throw tenon::DataError(place + " has no name; expected a header");
    if (!places_.emplace(columns_[i], i).second) {
      throw tenon::DataError(place + " is named \"" + columns_[i] +
                             "\", like an earlier column; expected a header without duplicates");
    }
  }
}

void Csv::append_row(const std::vector<std::string>& cells, size_t line) {
  if (cells.size() != columns_.size()) {
    throw tenon::DataError(path_ + ':' + std::to_string(line) + ": has " + std::to_string(cells.size()) +
                           " cells; expected " + std::to_string(columns_.size()) + ", as the header has");
  }
  for (const std::string& cell : cells) {
    text_ += cell;
    ends_.push_back(text_.size());
  }
  lines_.push_back(line);
}

std::optional<size_t> Csv::find_column(const std::string& name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

size_t Csv::column(const std::string& name, std::string_view parameter) const {
  if (const std::optional<size_t> found = find_column(name)) return *found;
  std::string known;
  for (const std::string& column : columns_) known += (known.empty() ? "\"" : ", \"") + column + '"';
  throw tenon::DataError(path_ + ":1: there is no column \"" + std::string(name) + "\", which the parameter \"" +
                         std::string(parameter) + "\" names; available: " + known);
}

std::string_view Csv::cell(size_t row, size_t column) const {
  const size_t index = row * columns_.size() + column;
  const size_t begin = index == 0 ? 0 : ends_[index - 1];
  return std::string_view(text_).substr(begin, ends_[index] - begin);
}

float Csv::number(size_t row, size_t column) const {
  const std::string_view text = cell(row, column);
  const std::optional<double> number = parse_number(text);
  if (!number)
    throw tenon::DataError(place(row, column) + ": \"" + std::string(text) + "\" is not a finite 32-bit number");
  return static_cast<float>(*number);
}

std::string Csv::place(size_t row) const { return path_ + ':' + std::to_string(lines_[row]); }

std::string Csv::place(size_t row, size_t column) const { return place(row) + ": column \"" + columns_[column] + '"'; }

std::optional<double> parse_number(std::string_view cell) {
  // std::from_chars accepts no plus sign.
  const bool has_plus = cell.size() > 1 && cell[0] == '+' && cell[1] != '-';
  const std::string_view text = cell.substr(has_plus ? 1 : 0);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_finite = std::isfinite(static_cast<float>(number));
  if (error != std::errc() || end != text.data() + text.size() || !is_finite) return std::nullopt;
  return number;
}

char separator_named(std::string_view name) {
  if (name == "tab") return '\t';
  return name == "semicolon" ? ';' : ',';
}

}  // namespace tables
