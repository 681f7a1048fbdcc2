// Reads arbitrary text as a table in CSV; the first byte chooses the separator. Wrong text is refused with
// tenon::DataError, and the cells of an accepted table, all in quotes, are read as the same table.
#include <string>

#include <tenon/error.hpp>

#include "plugins/datasets/shared/csv.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace tenon::fuzz;

std::string quote(std::string_view cell) {
  std::string quoted = "\"";
  for (const char letter : cell) quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return quoted + '"';
}

std::string print(const tables::Csv& table, char separator) {
  std::string text;
  for (const std::string& column : table.columns())
    text += (text.empty() ? "" : std::string(1, separator)) + quote(column);
  for (size_t row = 0; row < table.rows(); ++row)
    for (size_t column = 0; column < table.columns().size(); ++column)
      text += (column == 0 ? '\n' : separator) + quote(table.cell(row, column));
  return text;
}

void read_numbers(const tables::Csv& table) {
  for (size_t row = 0; row < table.rows(); ++row) {
    require(row == 0 || table.line(row) > table.line(row - 1));
    for (size_t column = 0; column < table.columns().size(); ++column) {
      try {
        const float number = table.number(row, column);
        require(number - number == 0.0f);
      } catch (const tenon::DataError&) {
      }
    }
  }
}

}  // namespace

TENON_FUZZ_TARGET(csv) {
  Choices choices(input);
  const char separator = ",;\t"[choices.choose(3)];
  try {
    const tables::Csv table(as_text(choices.rest()), "fuzzed.csv", separator);
    read_numbers(table);
    const std::string printed = print(table, separator);
    require(print(tables::Csv(printed, "printed.csv", separator), separator) == printed);
  } catch (const tenon::DataError&) {
  }
}
