#include "framework/config/toml/explain_toml_error.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/config/toml/repair_line.h"
#include "framework/formats/unicode.h"
#include "framework/support/text/format.h"

namespace tenon::config {
namespace {

constexpr size_t kMostBytes = 65536;  // of a text that is parsed again
constexpr size_t kMostLetters = 400;  // of a line that is repaired
constexpr int kMostAttempts = 60;
constexpr int kMostRepairs = 3;  // of one line

// Tables that are lists: each element has its header in two brackets.
constexpr std::array<std::string_view, 6> kLists = {
    "loss", "metric", "callback", "data.batch_transform", "data.train.change", "optimizer.group"};

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char letter : text) {
    if (letter == '\n')
      lines.emplace_back();
    else
      lines.back() += letter;
  }
  for (std::string& line : lines)
    if (line.ends_with('\r')) line.pop_back();
  return lines;
}

std::string join_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// Returns the index of the byte at which the character with this column begins.
size_t index_of(const std::string& line, int column) {
  size_t at = 0;
  for (int character = 1; at < line.size(); ++at)
    if (!formats::is_continuation(line[at]) && character++ == column) break;
  return at;
}

// Returns "`lr = 1` and `eps = 2` on two lines" for two lines.
std::string quote_lines(const std::string& lines) {
  const size_t end = lines.find('\n');
  const auto quoted = [](std::string_view line) { return "`" + std::string(strip_blanks(line)) + "`"; };
  if (end == lines.npos) return quoted(lines);
  return fmt::format("{} and {} on two lines", quoted(std::string_view(lines).substr(0, end)),
                     quoted(std::string_view(lines).substr(end + 1)));
}

// Tries corrections of one line until the text is valid up to the end of the line.
class Search {
 public:
  Search(std::vector<std::string> lines, const FindTomlError& find_error)
      : lines_(std::move(lines)), find_error_(find_error) {}

  // `error_line`: the first line with an error; a correction must move the error to a later line. `at`: index in the
  // line.
  std::optional<Repair> repair(size_t line, size_t at, size_t error_line, int depth = 1) {
    const std::string original = lines_[line];
    if (original.size() > kMostLetters) return std::nullopt;
    for (Repair& one : list_repairs(original, at)) {
      if (++attempts_ > kMostAttempts) return std::nullopt;
      lines_[line] = one.line;
      const auto error = find_error_(join_lines(lines_));
      const size_t added = static_cast<size_t>(std::ranges::count(one.line, '\n'));
      const bool is_valid = !error || static_cast<size_t>(error->line) > error_line + 1 + added;
      const bool is_same_line = error && static_cast<size_t>(error->line) == line + 1 && added == 0;
      std::optional<Repair> further;
      if (!is_valid && is_same_line && depth < kMostRepairs)
        further = repair(line, index_of(one.line, error->column), error_line, depth + 1);
      lines_[line] = original;
      if (is_valid) return one;
      if (further) return Repair{one.found, one.expected + " and " + further->expected, further->line};
    }
    return std::nullopt;
  }

  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
  const FindTomlError& find_error_;
  int attempts_ = 0;
};

// Returns the text between the last two single quotes.
std::string name_in(const std::string& reason) {
  const size_t end = reason.rfind('\'');
  const size_t begin = end == reason.npos || end == 0 ? reason.npos : reason.rfind('\'', end - 1);
  return begin == reason.npos ? "" : reason.substr(begin + 1, end - begin - 1);
}

bool is_header(std::string_view line) { return line.starts_with('['); }

// Returns "loss" for "[[loss]]  # comment".
std::string_view header_name(std::string_view line) {
  line = line.substr(0, line.find(']'));
  const size_t begin = line.find_first_not_of('[');
  return begin == line.npos ? std::string_view() : strip_blanks(line.substr(begin));
}

std::string_view key_of(std::string_view line) { return strip_blanks(line.substr(0, line.find('='))); }

// A key or a table that the file has twice.
std::optional<std::string> explain_duplicate(const std::vector<std::string>& lines, size_t line,
                                             const std::string& reason) {
  if (reason.find("cannot redefine") == reason.npos || line >= lines.size()) return std::nullopt;
  const std::string_view text = strip_blanks(lines[line]);
  const bool of_table = is_header(text);
  const std::string name(of_table ? header_name(text) : key_of(text));
  const std::string shown = of_table ? "[" + name + "]" : name;
  std::optional<size_t> first;
  for (size_t i = line; i-- > 0 && !first;) {
    const std::string_view before = strip_blanks(lines[i]);
    if (!of_table && is_header(before)) break;
    if (of_table ? is_header(before) && header_name(before) == name : key_of(before) == name) first = i;
  }
  if (of_table && std::ranges::find(kLists, name) != kLists.end())
    return fmt::format("[{0}] is there more than once; expected the header of a list: write `[[{0}]]` for each of them",
                       name);
  if (!first) return name_in(reason) + " is there twice; expected it once: remove one of them";
  return fmt::format("{} is in line {} already; expected each {}", shown, *first + 1,
                     of_table ? "table once: move its keys there" : "key once: remove one of the two lines");
}

// Returns the index of the nearest line before this one that is neither blank nor a comment.
std::optional<size_t> line_before(const std::vector<std::string>& lines, size_t line) {
  for (size_t i = std::min(line, lines.size()); i-- > 0;)
    if (const std::string_view text = strip_blanks(lines[i]); !text.empty() && !text.starts_with('#')) return i;
  return std::nullopt;
}

// A list that should have ended in the line before the error.
std::optional<Repair> close_list_before(const std::vector<std::string>& lines, size_t before, size_t error_line,
                                        const FindTomlError& find_error) {
  const LineParts parts = find_line_parts(lines[before]);
  for (const std::string& closing : {parts.unclosed, std::string("]"), std::string(" }")}) {
    if (closing.empty()) continue;
    std::vector<std::string> changed = lines;
    changed[before] = lines[before].substr(0, parts.end) + closing;
    const auto error = find_error(join_lines(changed));
    if (!error || static_cast<size_t>(error->line) > error_line + 1)
      return Repair{"a bracket is not closed", "as many closing brackets as opening ones", changed[before]};
  }
  return std::nullopt;
}

std::string format_repair(const Repair& repair) {
  return fmt::format("{}; expected {}: write {}", repair.found, repair.expected, quote_lines(repair.line));
}

// Returns "could not determine value type" for "Error while parsing value: could not determine value type".
std::string reason_of(const std::string& what) {
  constexpr std::string_view kPrefix = "Error while parsing ";
  return what.starts_with(kPrefix) ? what.substr(kPrefix.size()) : what;
}

}  // namespace

TomlError explain_toml_error(const std::string& text, TomlError error, const FindTomlError& find_error) {
  const std::string fallback =
      reason_of(error.what) + "; expected lines such as `epochs = 10`, `use = \"mlp\"` or `[train]`";
  if (strip_blanks(std::string_view(text).substr(std::min(text.find_first_not_of("\n"), text.size())))
          .starts_with('{')) {
    error.what = "the file is JSON; expected TOML, with lines such as `[train]` and `epochs = 10`";
    return error;
  }
  const auto line = static_cast<size_t>(std::max(error.line, 1) - 1);
  const std::vector<std::string> lines = split_lines(text);
  if (const auto duplicate = explain_duplicate(lines, line, error.what)) {
    error.what = *duplicate;
    return error;
  }
  error.what = fallback;
  if (text.size() > kMostBytes || line >= lines.size()) return error;
  Search search(lines, find_error);
  if (const auto repair = search.repair(line, index_of(lines[line], error.column), line)) {
    error.what = format_repair(*repair);
  } else if (const auto before = line_before(lines, line)) {
    if (const auto closed = close_list_before(lines, *before, line, find_error)) {
      error.line = static_cast<int>(*before) + 1;
      error.column = static_cast<int>(strip_blanks(lines[*before]).size());
      error.what = format_repair(*closed);
    }
  }
  return error;
}

}  // namespace tenon::config
