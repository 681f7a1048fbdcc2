// SHA-256 (FIPS 180-4) of files, as lower-case hexadecimal digits, computed by OpenSSL.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tenon::support {

// Throws Error(system) that names the file if it cannot be read.
std::string read_sha256(const std::filesystem::path& file);
std::string sha256(std::string_view bytes);

}  // namespace tenon::support
