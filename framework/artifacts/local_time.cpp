#include "framework/artifacts/local_time.h"

#include <array>
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

std::string print_time_for_names(std::chrono::system_clock::time_point moment) {
  return print(moment, "%Y-%m-%dT%H-%M-%S");
}

std::string print_iso_8601(std::chrono::system_clock::time_point moment) {
  std::string text = print(moment, "%Y-%m-%dT%H:%M:%S%z");  // ...+0100
  return text.insert(text.size() - 2, ":");
}

}  // namespace tenon::artifacts
