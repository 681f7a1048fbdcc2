// How long a part of a schedule is: "30 epochs", "1000 steps", a part of the run, or all that is left of it.
#pragma once

#include <optional>
#include <string>

#include "framework/config/toml_tree.h"
#include "framework/config/value.h"

namespace tenon::config {

struct ScheduleLength {
  enum class Unit { rest, run, epochs, steps };
  Unit unit = Unit::rest;
  double count = 0;  // of run: a part, in [0, 1]; of epochs and steps: whole, at least 1
};

// `"30 epochs"`, `"1000 steps"` or `"rest"`; a whole number is steps (0: none of the run), any other a part of the run.
// None for anything else.
std::optional<ScheduleLength> read_schedule_length(const Node& node);

// Whether the key of [schedule] with this name is a length; `milestones` is a list of them.
bool is_schedule_length(const std::string& name);

// As the run file would write it.
Value to_value(const ScheduleLength& length);

// What is expected, for messages.
extern const char* const kScheduleLengthExamples;

}  // namespace tenon::config
