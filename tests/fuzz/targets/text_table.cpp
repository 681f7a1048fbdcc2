// Reads arbitrary bytes as a table of texts; the first bytes choose the format, and whether column names are given. A
// wrong table is refused with tenon::DataError. The texts of an accepted one are UTF-8 and not blank, and as a table
// with the same texts in JSON lines it has the same rows.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <tenon/error.hpp>

#include "framework/formats/unicode.h"
#include "plugins/text/text_table.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace tenon::fuzz;

void check(const text::TextTable& table, const std::vector<std::string>& columns) {
  require(table.rows() > 0 && table.texts().size() == table.rows() * columns.size());
  std::string lines;
  for (size_t row = 0; row < table.rows(); ++row) {
    require(!table.place(row).empty());
    nlohmann::json object;
    for (size_t i = 0; i < columns.size(); ++i) {
      const std::string_view text = table.text(row, i);
      require(formats::find_invalid_utf8(text) == text.size() && text.find_first_not_of(" \t\r\n") != text.npos);
      object[std::to_string(i)] = text;
    }
    lines += object.dump() + '\n';
  }
  const MemoryFile printed(lines);
  std::vector<std::string> names;
  for (size_t i = 0; i < columns.size(); ++i) names.push_back(std::to_string(i));
  const text::TextTable again(printed.path(), text::TableFormat("json_lines", {}), names);
  require(again.texts() == table.texts());
}

}  // namespace

TENON_FUZZ_TARGET(text_table) {
  Choices choices(input);
  const char* const format = std::vector{"tsv", "csv", "json_lines"}[choices.choose(3)];
  const bool has_names = choices.choose(2) == 1;
  const std::vector<std::string> columns =
      choices.choose(2) == 1 ? std::vector<std::string>{"a", "b"} : std::vector<std::string>{"/c/b", "a", "a"};
  const MemoryFile file(choices.rest());
  try {
    const text::TableFormat table_format(
        format, has_names ? std::vector<std::string>{"b", "a", "/c/b"} : std::vector<std::string>{});
    check(text::TextTable(file.path(), table_format, columns), columns);
  } catch (const tenon::DataError&) {
  } catch (const tenon::Error&) {
    require(has_names && std::string(format) != "tsv");
  }
}
