// Writes text as a cell of a CSV file.
#pragma once

#include <string>
#include <string_view>

namespace tenon::artifacts {

// Quotes the text if it contains a comma, a quote or a line break (RFC 4180). Escapes control characters as
// support::escape_control_characters() does: a terminal may show the file.
std::string quote_for_csv(std::string_view text);

}  // namespace tenon::artifacts
