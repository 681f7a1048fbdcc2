// Sizes, counts, numbers, times, paths and words of a shell for messages and tables.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace tenon::support {

// "176.1 KiB".
std::string format_bytes(uint64_t bytes);

// "1 batch", "2 batches". `many`: the plural if it is not `one` with an s.
std::string format_count(int64_t count, const std::string& one, const std::string& many = "");

std::string format_scaled(double number);  // "1.814 G" for 1814073344
std::string format_time(double seconds);   // "12.5 ms" for 0.0125

// Returns 1234567 as "1,234,567".
template <std::integral Number>
std::string group_digits(Number number) {
  std::string text = std::to_string(number);
  for (size_t i = text.size(); i > (number < 0 ? 4u : 3u);) text.insert(i -= 3, ",");
  return text;
}

// Returns the path from the current folder, if it is below that. Otherwise returns the path unchanged.
std::string show_path(const std::filesystem::path& path);

// Returns the text as one word of a POSIX shell: "runs/a", "'my runs/a'".
std::string quote_for_shell(const std::string& word);

}  // namespace tenon::support
