#include "framework/config/values/period.h"

#include <array>
#include <charconv>
#include <cmath>

namespace tenon::config {
namespace {

struct UnitName {
  std::string_view name;  // singular; the plural has an s
  Period::Unit unit;
  double size;  // multiple of `unit`
};

// From large to small: to_string() takes the first unit in which the count is whole.
constexpr std::array<UnitName, 5> kUnits = {{{"epoch", Period::Unit::epochs, 1},
                                             {"step", Period::Unit::steps, 1},
                                             {"hour", Period::Unit::seconds, 3600},
                                             {"minute", Period::Unit::seconds, 60},
                                             {"second", Period::Unit::seconds, 1}}};

// Below 2^53, so that every whole count is exact.
constexpr double kLargestCount = 1e15;

bool is_whole(double number) { return number == std::floor(number); }

std::string write_count(double count, std::string_view unit) {
  std::array<char, 400> digits;  // enough for the smallest double
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), count, std::chars_format::fixed).ptr;
  std::string text(digits.data(), end);
  text += ' ';
  text += unit;
  return count == 1 ? text : text + 's';
}

}  // namespace

std::string to_string(const Period& period) {
  for (const UnitName& known : kUnits) {
    const bool is_smallest = known.size == 1;
    if (known.unit == period.unit && (is_smallest || is_whole(period.count / known.size))) {
      return write_count(period.count / known.size, known.name);
    }
  }
  return "never";
}

std::optional<Period> parse_period(std::string_view text, Fractions fractions) {
  if (text == "never") return Period{};
  double count = 0;
  const auto [number_end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || !(count > 0 && count <= kLargestCount)) return std::nullopt;
  std::string_view unit = text.substr(static_cast<size_t>(number_end - text.data()));
  if (!unit.starts_with(' ')) return std::nullopt;
  unit.remove_prefix(1);
  if (unit.ends_with('s')) unit.remove_suffix(1);
  for (const UnitName& known : kUnits) {
    if (unit != known.name) continue;
    const bool is_counted = known.unit != Period::Unit::seconds;
    const Period period{known.unit, count * known.size};
    if (is_counted && !is_whole(count) && !(fractions == Fractions::yes && period.is_fraction())) return std::nullopt;
    return period;
  }
  return std::nullopt;
}

}  // namespace tenon::config
