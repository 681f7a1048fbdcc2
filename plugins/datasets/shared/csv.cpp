#include "plugins/datasets/shared/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <utility>

#include <tenon/error.hpp>

#include "framework/formats/regular_file.h"
#include "framework/formats/strings.h"
#include "framework/formats/unicode.h"
#include "plugins/datasets/shared/warn.h"

namespace tables {
namespace {

// Reads a text cell by cell.
class Reader {
 public:
  Reader(std::string_view text, const std::string& path, char separator)
      : text_(text), path_(path), separator_(separator) {
    if (const std::string found = formats::find_wide_encoding(text); !found.empty())
      throw tenon::DataError(path_ + ": " + found);
    if (text_.starts_with(formats::kByteOrderMark)) at_ = formats::kByteOrderMark.size();
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
      if (next_is('\r')) {
        refuse(cell,
               "a carriage return (CR) without a line feed; expected lines that end with LF or CR LF; if the file is "
               "from an old Macintosh program, convert it: tr '\\r' '\\n' < old.csv > new.csv");
      }
      if (next_is('\0')) refuse(cell, "a control character; expected text");
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

bool is_blank(const std::vector<std::string>& cells) {
  return cells.size() == 1 && formats::trim(cells.front()).empty();
}

constexpr const char* kAddHeader = "; if the file has no header, add a first line with the names of its columns";
constexpr const char* kWithoutIndex = "; write a table of pandas with to_csv(..., index=False)";

}  // namespace

Csv::Csv(const std::string& path, char separator, Header header)
    : Csv(formats::read_whole(path, "a CSV file with a header"), path, separator, header) {}

Csv::Csv(std::string_view text, const std::string& path, char separator, Header header) : path_(path) {
  Reader reader(text, path_, separator);
  std::vector<std::string> cells;
  size_t line = 0;
  do {
    line = reader.line();
    reader.read_row(cells);
  } while (is_blank(cells) && !reader.at_end());
  header_line_ = line;
  if (header == Header::none) {
    for (size_t i = 0; i < cells.size(); ++i) columns_.push_back(std::to_string(i + 1));
    index_columns();
    append_row(cells, line);
  } else {
    for (const std::string& cell : cells) columns_.push_back(formats::clean_name(cell));
    has_index_ = columns_.size() > 1 && columns_.front().empty();
    if (has_index_) columns_.erase(columns_.begin());
    index_columns();
  }
  while (!reader.at_end()) {
    line = reader.line();
    reader.read_row(cells);
    if (!is_blank(cells) || (columns_.size() == 1 && cells.front().empty())) append_row(cells, line);
  }
  if (lines_.empty()) throw tenon::DataError(path_ + ": has no row below its header; expected a row for each sample");
  if (header == Header::none) return;
  check_header();
  if (has_index_) {
    datasets::warn(path_ + ':' + std::to_string(header_line_) +
                   ": the first column has no name and numbers the rows, as the index of pandas does; it is not read" +
                   kWithoutIndex);
  }
}

void Csv::index_columns() {
  for (size_t i = 0; i < columns_.size(); ++i) {
    const std::string place =
        path_ + ':' + std::to_string(header_line_) + ": column " + std::to_string(i + 1 + (has_index_ ? 1 : 0));
    if (columns_[i].empty()) throw tenon::DataError(place + " has no name; expected a header" + kAddHeader);
    if (!places_.emplace(columns_[i], i).second) {
      throw tenon::DataError(place + " is named \"" + columns_[i] +
                             "\", like an earlier column; expected a header without duplicates" + kAddHeader);
    }
  }
}

// A row of data in place of a header would be lost silently.
void Csv::check_header() const {
  std::vector<double> numbers;
  const std::string* repeated = nullptr;
  size_t names = 0;
  for (size_t column = 0; column < columns_.size(); ++column) {
    if (const std::optional<double> number = parse_number(columns_[column])) {
      numbers.push_back(*number);
      continue;
    }
    bool is_value = false;
    for (size_t row = 0; row < rows() && !is_value; ++row) is_value = cell(row, column) == columns_[column];
    if (is_value && !repeated) repeated = &columns_[column];
    names += !is_value;
  }
  // Numbered columns, years and wavelengths increase.
  const bool are_values = std::adjacent_find(numbers.begin(), numbers.end(), std::greater_equal<>()) != numbers.end();
  if (!repeated && (!are_values || names > 0)) return;
  const std::string found = path_ + ':' + std::to_string(header_line_) +
                            ": is probably a row of data and not a header: " +
                            (repeated ? '"' + *repeated + "\" is also a value of its column" : "it holds only numbers");
  if (names == 0) throw tenon::DataError(found + "; expected the names of the columns; add them as the first line");
  datasets::warn(found + "; the row is not a sample" + kAddHeader);
}

void Csv::append_row(const std::vector<std::string>& cells, size_t line) {
  if (has_index_ && cells.size() == columns_.size() + 1) {
    if (!parse_number(cells.front()) || !index_.insert(cells.front()).second) {
      throw tenon::DataError(path_ + ':' + std::to_string(header_line_) +
                             ": column 1 has no name, and does not number the rows (line " + std::to_string(line) +
                             "); expected a header" + kWithoutIndex);
    }
    return append_cells(std::span(cells).subspan(1), line);
  }
  append_cells(cells, line);
}

void Csv::append_cells(std::span<const std::string> cells, size_t line) {
  if (cells.size() != columns_.size()) {
    throw tenon::DataError(path_ + ':' + std::to_string(line) + ": has " + std::to_string(cells.size()) +
                           " cells; expected " + std::to_string(columns_.size() + (has_index_ ? 1 : 0)) +
                           ", as the header has" + advise_separator());
  }
  for (const std::string& cell : cells) {
    text_ += cell;
    ends_.push_back(text_.size());
  }
  lines_.push_back(line);
}

std::optional<size_t> Csv::find_column(const std::string& name) const {
  const auto found = places_.find(formats::clean_name(name));
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

size_t Csv::column(const std::string& name, std::string_view parameter) const {
  if (const std::optional<size_t> found = find_column(name)) return *found;
  throw tenon::DataError(path_ + ':' + std::to_string(header_line_) + ": there is no column \"" + std::string(name) +
                         "\", which the parameter \"" + std::string(parameter) +
                         "\" names; available: " + formats::quote_all(columns_) + advise_separator());
}

std::string Csv::advise_separator() const {
  constexpr std::pair<char, const char*> kNames[] = {{';', "semicolon"}, {'\t', "tab"}, {',', "comma"}};
  if (columns_.size() != 1) return "";
  for (const auto& [separator, name] : kNames) {
    if (columns_.front().find(separator) == std::string::npos) continue;
    return std::string("; the names seem to be separated by a ") + name + ": set separator = \"" + name +
           "\", or write the file with commas if the dataset has no such parameter";
  }
  return "";
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
