// Encodes text and pictures for files of other formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::artifacts {

// Escapes any text as content or attribute of HTML and SVG. Invalid UTF-8, control characters other than tabs and line
// breaks, and characters that reorder text become escapes, see support::escape_control_characters().
std::string escape_html(std::string_view text);

// Quotes a cell of a CSV file if it contains a comma, a quote or a line break (RFC 4180). Escapes control characters as
// support::escape_control_characters() does: a terminal may show the file.
std::string quote_for_csv(std::string_view text);

// Base64 (RFC 4648, section 4). REQUIRES: fewer bytes than 1.5 GiB.
std::string to_base64(std::span<const std::byte> bytes);
// Returns nothing for a text that to_base64() does not write.
std::optional<std::string> from_base64(std::string_view text);

// Encodes pixels [height, width, channels], with 1 (grey) or 3 (red, green, blue) channels, losslessly into `file`.
// Throws Error(data) if the image has no pixels, or a side longer than the limit of libpng (1,000,000 pixels).
void encode_png(std::span<const std::byte> pixels, int64_t height, int64_t width, int64_t channels,
                std::vector<std::byte>& file);

}  // namespace tenon::artifacts
