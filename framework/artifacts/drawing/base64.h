// Encodes bytes as base64 (RFC 4648, section 4), to embed them in a page.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace tenon::artifacts {

// REQUIRES: fewer bytes than 1.5 GiB.
std::string to_base64(std::span<const std::byte> bytes);

}  // namespace tenon::artifacts
