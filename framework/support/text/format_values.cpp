#include "framework/support/text/format_values.h"

#include <array>
#include <cstddef>
#include <iterator>
#include <system_error>

#include "framework/formats/strings.h"
#include "framework/support/text/format.h"

namespace tenon::support {

std::string format_bytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  double number = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; number >= 1024 && unit + 1 < std::size(kUnits); ++unit) number /= 1024;
  return fmt::format("{:.1f} {}", number, kUnits[unit]);
}

std::string format_count(int64_t count, const std::string& one, const std::string& many) {
  return fmt::format("{} {}", count, count == 1 ? one : many.empty() ? one + "s" : many);
}

std::string format_scaled(double number) {
  constexpr std::array kUnits{"", " k", " M", " G", " T", " P"};
  size_t unit = 0;
  for (; number >= 1000 && unit + 1 < kUnits.size(); ++unit) number /= 1000;
  return unit == 0 ? fmt::format("{:.0f}", number) : fmt::format("{:.4g}{}", number, kUnits[unit]);
}

std::string format_time(double seconds) {
  if (seconds >= 1) return fmt::format("{:.2f} s", seconds);
  return fmt::format("{:.{}f} ms", seconds * 1e3, seconds < 0.01 ? 3 : 1);
}

std::string show_path(const std::filesystem::path& path) {
  std::error_code failed;
  const std::filesystem::path relative = path.lexically_relative(std::filesystem::current_path(failed));
  return failed || relative.empty() || *relative.begin() == ".." ? path.string() : relative.string();
}

std::string quote_for_shell(const std::string& word) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,@%+-";
  if (!word.empty() && word.find_first_not_of(kPlain) == word.npos) return word;
  return "'" + formats::replace_all(word, "'", "'\\''") + "'";
}

}  // namespace tenon::support
