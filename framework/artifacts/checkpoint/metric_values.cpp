#include "framework/artifacts/checkpoint/metric_values.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tenon::artifacts {

std::string format_number(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  std::array<char, 32> text;
  const auto result = std::to_chars(text.data(), text.data() + text.size(), number);
  return std::string(text.data(), result.ptr);
}

std::string format_json_number(double number) {
  if (number == 0 && std::signbit(number)) return "-0.0";  // readers take -0 for the integer 0
  return std::isfinite(number) ? format_number(number) : '"' + format_number(number) + '"';
}

double parse_not_finite(std::string_view text) {
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  throw std::invalid_argument(format_json_string(text) + "; expected a number, \"NaN\", \"Infinity\" or \"-Infinity\"");
}

std::string format_json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace tenon::artifacts
