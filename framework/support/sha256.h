// SHA-256 (FIPS 180-4) of files, as lower-case hexadecimal; OpenSSL does the work.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace tenon::support {

// Throws Error(internal) naming the file if it cannot be read.
std::string read_sha256(const std::filesystem::path& file);
std::string sha256(std::string_view bytes);
// Of all pieces, one behind the other.
std::string sha256(std::span<const std::span<const std::byte>> pieces);

}  // namespace tenon::support
