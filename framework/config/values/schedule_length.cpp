#include "framework/config/values/schedule_length.h"

#include "framework/config/values/period.h"
#include "framework/support/diagnostics/check.h"

namespace tenon::config {
namespace {

using Unit = ScheduleLength::Unit;

std::optional<ScheduleLength> parse(const std::string& text) {
  if (text == "rest") return ScheduleLength{};
  const auto period = parse_period(text);
  if (!period) return std::nullopt;
  if (period->unit == Period::Unit::epochs) return ScheduleLength{Unit::epochs, period->count};
  if (period->unit == Period::Unit::steps) return ScheduleLength{Unit::steps, period->count};
  return std::nullopt;
}

}  // namespace

const char* const kScheduleLengthExamples =
    "a length such as \"30 epochs\", \"1000 steps\", 1000 (steps) or 0.05 (of the run)";

std::optional<ScheduleLength> read_schedule_length(const Node& node) {
  if (const std::string* text = node.as_string()) return parse(*text);
  if (const auto* steps = std::get_if<int64_t>(&node.value)) {
    if (*steps == 0) return ScheduleLength{Unit::run, 0};
    if (*steps < 0 || *steps > kMostScheduleSteps) return std::nullopt;
    return ScheduleLength{Unit::steps, static_cast<double>(*steps)};
  }
  const auto* part = std::get_if<double>(&node.value);
  if (part == nullptr || !(*part >= 0 && *part <= 1)) return std::nullopt;
  return ScheduleLength{Unit::run, *part};
}

bool is_schedule_length(const std::string& name) {
  for (const char* const length : {"decay", "every", "length", "step_size", "t_0", "warmup"})
    if (name == length) return true;
  return false;
}

Value to_value(const ScheduleLength& length) {
  switch (length.unit) {
    case Unit::rest: return std::string("rest");
    case Unit::run: return length.count;
    case Unit::epochs: return to_string(Period{Period::Unit::epochs, length.count});
    case Unit::steps: return to_string(Period{Period::Unit::steps, length.count});
  }
  return std::string("rest");
}

std::string to_text(const ScheduleLength& length) {
  const Value value = to_value(length);
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : to_toml(value);
}

ScheduleLength to_length(const std::string& text) {
  const auto number = parse_toml_value(text, {});
  const auto length = read_schedule_length(number ? *number : Node{text, {}, {}, {}});
  TENON_CHECK(length, text);
  return *length;
}

}  // namespace tenon::config
