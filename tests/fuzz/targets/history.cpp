// Reads arbitrary text as history.jsonl. A wrong line is refused with std::invalid_argument, and a line that is
// accepted is printed as one line with the same content.
#include <stdexcept>
#include <string>

#include "framework/artifacts/run_folder/history.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace tenon;

void read_line(std::string_view text) {
  const std::string printed = artifacts::format_history_line(artifacts::parse_history_line(text));
  fuzz::require(printed.find('\n') == printed.size() - 1);
  const std::string_view line = std::string_view(printed).substr(0, printed.size() - 1);
  fuzz::require(artifacts::format_history_line(artifacts::parse_history_line(line)) == printed);
}

}  // namespace

TENON_FUZZ_TARGET(history) {
  for (std::string_view text = fuzz::as_text(input); !text.empty();) {
    const std::string_view line = fuzz::take_until(text, "\n");
    try {
      read_line(line);
    } catch (const std::invalid_argument&) {
    }
  }
}
