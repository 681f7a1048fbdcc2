// Escapes arbitrary text for a terminal, a page, a CSV file, JSON and a shell. The escaped text must stay within its
// place: it has no control characters and nothing that the reader would obey.
#include <nlohmann/json.hpp>
#include <string>

#include "framework/artifacts/checkpoint/metric_values.h"
#include "framework/artifacts/files/encode.h"
#include "framework/components/loading/plugin_note.h"
#include "framework/support/text/format_values.h"
#include "framework/support/text/printable.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace tenon;
using fuzz::require;

bool is_utf8(std::string_view text) { return support::replace_invalid_utf8(text) == text; }

// Marks and isolates that reorder or hide text, as escape_control_characters() lists them.
bool hides_text(std::string_view text) {
  for (const char* mark : {"\u200b", "\u200f", "\u2028", "\u202e", "\u2066", "\u2069", "\u061c", "\ufeff"})
    if (text.find(mark) != std::string_view::npos) return true;
  return false;
}

void check_safe(std::string_view text) {
  require(is_utf8(text));
  require(!tenon::components::find_control_character(text));
  require(!hides_text(text));
}

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

void check_html(std::string_view text, const std::string& safe) {
  const std::string escaped = artifacts::escape_html(text);
  check_safe(escaped);
  require(escaped.find_first_of("<>\"") == std::string::npos);
  std::string read = replace_all(replace_all(escaped, "&lt;", "<"), "&gt;", ">");
  read = replace_all(replace_all(read, "&quot;", "\""), "&amp;", "&");
  require(read == safe);
}

void check_csv(std::string_view text, const std::string& safe) {
  const std::string cell = artifacts::quote_for_csv(text);
  check_safe(cell);
  if (cell.empty() || cell.front() != '"') {
    require(cell == safe && cell.find_first_of(",\"\r\n") == std::string::npos);
    return;
  }
  require(cell.size() >= 2 && cell.back() == '"');
  require(replace_all(cell.substr(1, cell.size() - 2), "\"\"", "\"") == safe);
  require(replace_all(cell.substr(1, cell.size() - 2), "\"\"", "").find('"') == std::string::npos);
}

// Reads a word as a POSIX shell does; only single quotes and escaped quotes may occur.
std::string read_shell_word(const std::string& quoted) {
  constexpr const char* kSpecial = " \t\n|&;<>()$`\\\"*?[#~!{}\r";
  std::string word;
  for (size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] == '\'') {
      const size_t end = quoted.find('\'', i + 1);
      require(end != std::string::npos);
      word += quoted.substr(i + 1, end - i - 1);
      i = end;
    } else if (quoted[i] == '\\') {
      require(i + 1 < quoted.size());
      word += quoted[++i];
    } else {
      require(std::string_view(kSpecial).find(quoted[i]) == std::string_view::npos);
      word += quoted[i];
    }
  }
  return word;
}

void check_message(std::string_view text) {
  const std::string shown = support::printable(text);
  check_safe(shown);
  for (size_t at = 0; (at = shown.find('\n', at)) != std::string::npos; ++at)
    require(at + 1 == shown.size() || std::string_view(" \n\t").find(shown[at + 1]) != std::string_view::npos);
}

void check_json(std::string_view text) {
  const auto read = nlohmann::json::parse(artifacts::format_json_string(text));
  require(read.is_string() && read.get<std::string>() == support::replace_invalid_utf8(text));
}

}  // namespace

TENON_FUZZ_TARGET(escaped_text) {
  const std::string text(fuzz::as_text(input));
  const std::string safe = support::escape_control_characters(text);
  check_safe(safe);
  require(support::escape_control_characters(safe) == safe);
  check_html(text, safe);
  check_csv(text, safe);
  check_message(text);
  check_json(text);
  if (text.find('\0') == std::string::npos) {
    require(!support::quote_for_shell(text).empty());
    require(read_shell_word(support::quote_for_shell(text)) == text);
  }
}
