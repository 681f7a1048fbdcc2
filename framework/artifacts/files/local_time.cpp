#include "framework/artifacts/files/local_time.h"

#include <array>
#include <cstdio>
#include <ctime>

namespace tenon::artifacts {

namespace {

std::string print(std::chrono::system_clock::time_point moment, const char* format) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(moment);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::array<char, 64> text{};
  return std::string(text.data(), std::strftime(text.data(), text.size(), format, &local));
}

}  // namespace

std::string format_time_for_names(std::chrono::system_clock::time_point moment) {
  return print(moment, "%Y-%m-%dT%H-%M-%S");
}

std::string format_iso_8601(std::chrono::system_clock::time_point moment) {
  std::string text = print(moment, "%Y-%m-%dT%H:%M:%S%z");  // ...+0100
  return text.insert(text.size() - 2, ":");
}

std::optional<std::chrono::sys_seconds> parse_iso_8601(const std::string& text) {
  int year = 0, hour = 0, minute = 0, second = 0, offset_hours = 0, offset_minutes = 0;
  unsigned month = 0, day = 0;
  char sign = 0;
  const int read = std::sscanf(text.c_str(), "%4d-%2u-%2uT%2d:%2d:%2d%c%2d:%2d", &year, &month, &day, &hour, &minute,
                               &second, &sign, &offset_hours, &offset_minutes);
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (read != 9 || !date.ok() || (sign != '+' && sign != '-')) return std::nullopt;
  const auto offset = std::chrono::hours(offset_hours) + std::chrono::minutes(offset_minutes);
  return std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second) + (sign == '+' ? -offset : offset);
}

}  // namespace tenon::artifacts
