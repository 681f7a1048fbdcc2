// Compares our reader of CSV with Python's module csv in strict mode. A table that we accept has the same cells there.
// A table that only Python accepts has one of the properties that csv.h refuses.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <tenon/error.hpp>

#include "plugins/datasets/shared/csv.h"
#include "tests/fuzz/reference_program.h"

namespace {

using namespace tenon::fuzz;
using Rows = std::vector<std::vector<std::string>>;

std::string decode_base64(const std::string& text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char digit : text.substr(0, text.find('='))) {
    bits = bits << 6 | static_cast<uint32_t>(kDigits.find(digit));
    count += 6;
    if (count >= 8) bytes += static_cast<char>(bits >> (count -= 8) & 0xFF);
  }
  return bytes;
}

// The rows that Python reads; nothing if it refuses the text.
std::optional<Rows> read_rows(const nlohmann::json& answer) {
  if (answer.contains("error")) return std::nullopt;
  Rows rows;
  for (const auto& row : answer.at("rows")) {
    rows.emplace_back();
    for (const auto& cell : row) rows.back().push_back(decode_base64(cell));
  }
  return rows;
}

std::optional<Rows> read_ours(std::string_view text, char separator, std::string& message) {
  try {
    const tables::Csv table(text, "fuzzed.csv", separator);
    Rows rows = {table.columns()};
    for (size_t row = 0; row < table.rows(); ++row) {
      rows.emplace_back();
      for (size_t column = 0; column < table.columns().size(); ++column)
        rows.back().emplace_back(table.cell(row, column));
    }
    return rows;
  } catch (const tenon::DataError& error) {
    message = error.what();
    return std::nullopt;
  }
}

// Python returns an empty list for a blank line. In a table with one column the line is an empty cell for us.
void treat_blank_lines(Rows& rows, size_t columns) {
  if (columns > 1) {
    std::erase_if(rows, [](const auto& row) { return row.empty() || (row.size() == 1 && row[0].empty()); });
  } else {
    for (auto& row : rows)
      if (row.empty()) row.emplace_back();
  }
}

// A carriage return alone ends a line for Python. The message may have a name of the table.
bool is_refused_on_purpose(const std::string& message, std::string_view text) {
  if (message.ends_with("text after the closing quote; expected the next cell")) return text.find("\"\r") != text.npos;
  return std::ranges::any_of(std::vector<std::string>{"a quote within an unquoted cell", "a control character",
                                                      "a carriage return", " has no name", "like an earlier column",
                                                      "has no row below its header", " cells; expected "},
                             [&](const std::string& reason) { return message.find(reason) != std::string::npos; });
}

}  // namespace

TENON_FUZZ_TARGET(csv_like_python) {
  const auto answer = read_with_reference("csv", input);
  if (!answer) return;
  Choices choices(input);
  const char separator = ",;\t"[choices.choose(3)];
  std::string message;
  const std::optional<Rows> ours = read_ours(as_text(choices.rest()), separator, message);
  std::optional<Rows> theirs = read_rows(*answer);
  if (!ours) {
    require(!theirs || is_refused_on_purpose(message, as_text(choices.rest())));
    return;
  }
  require(theirs.has_value());
  treat_blank_lines(*theirs, ours->front().size());
  require(*theirs == *ours);
}
