#include "framework/artifacts/files/quote_for_csv.h"

#include "framework/support/text/printable.h"

namespace tenon::artifacts {

std::string quote_for_csv(std::string_view text) {
  const std::string safe = support::escape_control_characters(text);
  if (safe.find_first_of(",\"\r\n") == std::string::npos) return safe;
  std::string quoted = "\"";
  for (const char letter : safe) quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return quoted + '"';
}

}  // namespace tenon::artifacts
