// Bytes as base64 (RFC 4648, section 4), to embed them in a page or in JSON.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tenon::artifacts {

// REQUIRES: fewer bytes than 1.5 GiB.
std::string to_base64(std::span<const std::byte> bytes);

// Returns nothing for a text that to_base64() does not write.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace tenon::artifacts
