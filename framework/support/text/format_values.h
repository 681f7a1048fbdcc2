// Sizes, counts, paths and words of a shell for messages and tables.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace tenon::support {

// "176.1 KiB".
std::string format_bytes(uint64_t bytes);

// "1 batch", "2 batches". `many`: the plural if it is not `one` with an s.
std::string format_count(int64_t count, const std::string& one, const std::string& many = "");

// Returns the path from the current folder, if it is below that. Otherwise returns the path unchanged.
std::string show_path(const std::filesystem::path& path);

// Returns the text as one word of a POSIX shell: "runs/a", "'my runs/a'".
std::string quote_for_shell(const std::string& word);

}  // namespace tenon::support
