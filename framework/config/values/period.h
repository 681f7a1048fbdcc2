// An interval between actions: "1 epoch", "500 steps", "10 minutes", "never".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tenon::config {

struct Period {
  enum class Unit { never, epochs, steps, seconds };
  Unit unit = Unit::never;
  double count = 0;  // epochs and steps: whole, at least 1; seconds: above 0
};

// The run file syntax. A time is in the largest unit in which its count is whole.
std::string to_string(const Period& period);

// Units: epoch, step, second, minute, hour, with or without an s. None if the text is not a period.
std::optional<Period> parse_period(std::string_view text);

}  // namespace tenon::config
