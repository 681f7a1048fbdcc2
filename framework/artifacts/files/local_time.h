// Formats times in the local time zone.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace tenon::artifacts {

std::string format_time_for_names(std::chrono::system_clock::time_point moment);  // 2026-11-21T11-30-05
std::string format_iso_8601(std::chrono::system_clock::time_point moment);        // 2026-11-21T11:30:05+01:00
// Parses what format_iso_8601() prints, which has whole seconds. None for any other text.
std::optional<std::chrono::sys_seconds> parse_iso_8601(const std::string& text);

}  // namespace tenon::artifacts
