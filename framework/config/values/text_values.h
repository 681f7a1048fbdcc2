// Values that a run file writes as text: "500 steps", "80%", "cuda:1".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "framework/config/toml/toml_tree.h"
#include "framework/config/toml/value.h"

namespace tenon::config {

// An interval between actions: "1 epoch", "500 steps", "10 minutes", "never".
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

constexpr int64_t kMostScheduleSteps = 1'000'000'000'000'000;  // exact as a double

// The length of a part of a schedule: "30 epochs", "1000 steps", a fraction of the run, or the rest of the run.
struct ScheduleLength {
  enum class Unit { rest, run, epochs, steps };
  Unit unit = Unit::rest;
  double count = 0;  // run: a fraction in [0, 1]; epochs and steps: whole, at least 1
};

// Accepts `"30 epochs"`, `"1000 steps"` or `"rest"`. An integer is a number of steps, where 0 is an empty part of the
// run. Any other number is a fraction of the run. None for anything else.
std::optional<ScheduleLength> read_schedule_length(const Node& node);

// Whether the key of [schedule] with this name is a length. `milestones` is a list of lengths.
bool is_schedule_length(const std::string& name);

// The run file syntax.
Value to_value(const ScheduleLength& length);

// A length as text, which is the form that schemas accept: "0.05", "1000 steps". REQUIRES: `text` is from to_text().
std::string to_text(const ScheduleLength& length);
ScheduleLength to_length(const std::string& text);

// The expected values, for messages.
extern const char* const kScheduleLengthExamples;

// A subset of the samples of a dataset: "80%" is the first four fifths of a random order, "80%-100%" is the rest.
struct Subset {
  static constexpr int64_t kPercent = 1'000'000;  // in millionths of a percent, because integers compare exactly
  static constexpr int64_t kWhole = 100 * kPercent;

  int64_t begin = 0;
  int64_t end = kWhole;  // exclusive

  bool is_whole() const { return begin == 0 && end == kWhole; }
  bool operator==(const Subset&) const = default;
};

// "80%" if the subset begins at 0, else "80%-100%".
std::string to_string(const Subset& subset);

// Percentages from 0 to 100 with up to six decimals. The first must be below the second. None if the text is not a
// subset.
std::optional<Subset> parse_subset(std::string_view text);

// The device of a run: "auto", "cpu", "cuda" or "cuda:1".
struct DeviceChoice {
  enum class Kind {
    automatic,  // a CUDA device if one is usable, else the CPU
    cpu,
    cuda
  } kind = Kind::automatic;
  std::optional<int> index = {};  // index of the CUDA device; none: the local rank

  bool operator==(const DeviceChoice&) const = default;
};

std::string to_string(const DeviceChoice& choice);

// None if the text is none of the four forms.
std::optional<DeviceChoice> parse_device_choice(std::string_view text);

}  // namespace tenon::config
