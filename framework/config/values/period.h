// An interval between actions: "1 epoch", "500 steps", "10 minutes", "never".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tenon::config {

struct Period {
  enum class Unit { never, epochs, steps, seconds };
  Unit unit = Unit::never;
  double count = 0;  // epochs: whole, or a fraction below 1; steps: whole, at least 1; seconds: above 0

  // A part of an epoch, such as "0.25 epochs".
  bool is_fraction() const { return unit == Unit::epochs && count < 1; }
};

// The run file syntax. A time is in the largest unit in which its count is whole.
std::string to_string(const Period& period);

// Units: epoch, step, second, minute, hour, with or without an s. None if the text is not a period. `fractions`:
// whether a part of an epoch is one.
enum class Fractions { no, yes };
std::optional<Period> parse_period(std::string_view text, Fractions fractions = Fractions::no);

}  // namespace tenon::config
