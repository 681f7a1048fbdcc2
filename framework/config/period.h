// How often something happens, as people say it: "1 epoch", "500 steps", "10 minutes", "never".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tenon::config {

struct Period {
  enum class Unit { never, epochs, steps, seconds };
  Unit unit = Unit::never;
  double count = 0;  // whole, at least 1, for epochs and steps; above 0 for seconds
};

// As the run file would write it, in the largest unit of time that stays whole.
std::string to_string(const Period& period);

// Units: epoch, step, second, minute, hour, with or without an s. None if the text is no period.
std::optional<Period> parse_period(std::string_view text);

}  // namespace tenon::config
