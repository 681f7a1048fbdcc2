// The length of a part of a schedule: "30 epochs", "1000 steps", a fraction of the run, or the rest of the run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/config/toml/toml_tree.h"
#include "framework/config/toml/value.h"

namespace tenon::config {

constexpr int64_t kMostScheduleSteps = 1'000'000'000'000'000;  // exact as a double

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

}  // namespace tenon::config
