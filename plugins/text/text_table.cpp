#include "plugins/text/text_table.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include <tenon/error.hpp>

#include "framework/formats/regular_file.h"
#include "framework/formats/strings.h"
#include "framework/formats/unicode.h"
#include "plugins/datasets/shared/csv.h"
#include "plugins/datasets/shared/warn.h"

namespace text {
namespace {

// The lines of a file that are not blank. A line ends with LF or CR LF. A byte order mark is skipped.
class Lines {
 public:
  explicit Lines(const std::string& path) : path_(path), text_(formats::read_whole(path, "a text file")) {
    if (const std::string found = formats::find_wide_encoding(text_); !found.empty())
      throw tenon::DataError(path + ": " + found);
    if (text_.starts_with(formats::kByteOrderMark)) at_ = formats::kByteOrderMark.size();
  }

  bool next(std::string& line) {
    do {
      if (at_ == text_.size()) return false;
      const size_t end = std::min(text_.find('\n', at_), text_.size());
      line.assign(text_, at_, end - at_);
      at_ = std::min(end + 1, text_.size());
      ++number_;
      if (line.ends_with('\r')) line.pop_back();
    } while (is_blank(line));
    return true;
  }
  size_t number() const { return number_; }
  std::string place() const { return path_ + ':' + std::to_string(number_); }

 private:
  // A line of tabs is a row of empty cells.
  static bool is_blank(std::string_view line) {
    return line.find('\t') == std::string_view::npos && formats::trim(line).empty();
  }

  std::string path_;
  std::string text_;
  size_t at_ = 0;
  size_t number_ = 0;
};

// Cells that pandas may have put in quotes.
class QuotedCells {
 public:
  void add(std::string_view cell, const std::string& place) {
    if (cell.size() < 2 || !cell.starts_with('"') || !cell.ends_with('"')) return;
    if (count_++ == 0) first_ = place;
  }

  void warn(const std::string& path) const {
    if (count_ == 0) return;
    datasets::warn(path + ": " + std::to_string(count_) +
                   (count_ == 1 ? " cell begins and ends" : " cells begin and end") + " with a quote, first at " +
                   first_ +
                   "; a tsv has no quoting, so the quotes are part of the text; if they are not meant, write the table "
                   "of pandas with to_csv(..., sep=\"\\t\", quoting=csv.QUOTE_NONE), or as format = \"csv\"");
  }

 private:
  size_t count_ = 0;
  std::string first_;  // place
};

size_t find_column(const std::vector<std::string>& names, const std::string& column, const std::string& place,
                   const std::string& advice) {
  const auto found = std::find(names.begin(), names.end(), column);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  throw tenon::DataError(place + ": there is no column \"" + column + "\"; there are " + formats::quote_all(names) +
                         advice);
}

// The string at `key`. The key is a name, or a JSON pointer (RFC 6901) if it begins with a slash.
std::string member(const nlohmann::json& object, const std::string& key, const std::string& place) {
  const bool is_pointer = key.starts_with('/');
  if (!object.is_object()) throw tenon::DataError(place + ": is not a JSON object; expected one per line");
  if (is_pointer ? !object.contains(nlohmann::json::json_pointer(key)) : !object.contains(key)) {
    throw tenon::DataError(place + ": has no \"" + key + "\"; expected a string with that key");
  }
  const nlohmann::json& value = is_pointer ? object.at(nlohmann::json::json_pointer(key)) : object.at(key);
  if (!value.is_string()) {
    throw tenon::DataError(place + ": \"" + key + "\" has the type " + value.type_name() + "; expected a string");
  }
  return value.get<std::string>();
}

}  // namespace

std::vector<tenon::Param> TableFormat::schema() {
  return {tenon::param("format", "tsv")
              .choices({"tsv", "csv", "json_lines"})
              .doc("tsv: tab-separated without quoting; csv: comma-separated, RFC 4180; json_lines: one JSON object "
                   "per line"),
          tenon::param("columns", std::vector<std::string>())
              .doc("column names of a tsv without a header; empty: the first line is the header")};
}

TableFormat::TableFormat(std::string name, std::vector<std::string> columns)
    : name_(std::move(name)), columns_(std::move(columns)) {
  if (!columns_.empty() && name_ != "tsv") {
    throw tenon::Error(TENON_INVALID_ARGUMENT, "columns = [" + formats::quote_all(columns_) + "] with format = \"" +
                                                   name_ + "\"; only a tsv can be without a header; remove columns");
  }
}

TextTable::TextTable(const std::string& path, const TableFormat& format,
                     const std::vector<std::string>& columns_to_read)
    : path_(path), width_(columns_to_read.size()) {
  if (format.is_csv()) {
    read_csv(columns_to_read);
  } else if (format.is_json_lines()) {
    read_json_lines(columns_to_read);
  } else {
    read_separated(format, columns_to_read);
  }
  if (lines_.empty()) throw tenon::DataError(path_ + ": has no rows; expected one row per sample");
}

void TextTable::read_separated(const TableFormat& format, const std::vector<std::string>& columns_to_read) {
  Lines lines(path_);
  std::string line;
  std::vector<std::string> names = format.columns();
  if (names.empty()) {
    lines.next(line);
    for (const std::string_view name : formats::split(line, '\t')) names.push_back(formats::clean_name(name));
  }
  std::vector<size_t> columns;
  for (const std::string& name : columns_to_read) {
    columns.push_back(find_column(names, name, path_ + ':' + std::to_string(std::max<size_t>(lines.number(), 1)),
                                  "; if the file has no header, set the column names in the parameter columns"));
  }
  QuotedCells quoted;
  while (lines.next(line)) {
    const std::vector<std::string_view> cells = formats::split(line, '\t');
    if (cells.size() != names.size()) {
      throw tenon::DataError(lines.place() + ": has " + std::to_string(cells.size()) + " cells; expected " +
                             std::to_string(names.size()) + ", for the columns " + formats::quote_all(names));
    }
    for (size_t i = 0; i < width_; ++i) {
      append(cells[columns[i]], columns_to_read[i], lines.number());
      quoted.add(cells[columns[i]], lines.place());
    }
    lines_.push_back(lines.number());
  }
  quoted.warn(path_);
}

void TextTable::read_csv(const std::vector<std::string>& columns_to_read) {
  const tables::Csv csv(path_);
  std::vector<size_t> columns;
  for (const std::string& name : columns_to_read)
    columns.push_back(find_column(csv.columns(), name, path_ + ":1", csv.advise_separator()));
  for (size_t row = 0; row < csv.rows(); ++row) {
    for (size_t i = 0; i < width_; ++i) append(csv.cell(row, columns[i]), columns_to_read[i], csv.line(row));
    lines_.push_back(csv.line(row));
  }
}

void TextTable::read_json_lines(const std::vector<std::string>& columns_to_read) {
  Lines lines(path_);
  for (std::string line; lines.next(line);) {
    try {
      const nlohmann::json object = nlohmann::json::parse(line);
      for (const std::string& name : columns_to_read) append(member(object, name, lines.place()), name, lines.number());
    } catch (const nlohmann::json::exception& error) {
      throw tenon::DataError(lines.place() + ": " + error.what() + "; expected a JSON object in UTF-8");
    }
    lines_.push_back(lines.number());
  }
}

void TextTable::append(std::string_view cell, std::string_view column, size_t line) {
  const auto refuse = [&](const std::string& what) {
    throw tenon::DataError(path_ + ':' + std::to_string(line) + ": column \"" + std::string(column) + "\" " + what);
  };
  if (const size_t at = formats::find_invalid_utf8(cell); at != cell.size()) {
    refuse("is not UTF-8 at byte " + std::to_string(at) + "; convert the file to UTF-8");
  }
  if (cell.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    refuse("is blank; expected text; remove the row");
  }
  texts_.emplace_back(cell);
}

}  // namespace text
