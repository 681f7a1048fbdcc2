#include "framework/config/values/text_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "framework/formats/strings.h"
#include "framework/support/diagnostics/check.h"

namespace tenon::config {
namespace {

using Unit = ScheduleLength::Unit;

struct UnitName {
  std::string_view name;  // singular; the plural has an s
  Period::Unit unit;
  double size;  // multiple of `unit`
};

// From large to small: to_string() takes the first unit in which the count is whole.
constexpr std::array<UnitName, 5> kUnits = {{{"epoch", Period::Unit::epochs, 1},
                                             {"step", Period::Unit::steps, 1},
                                             {"hour", Period::Unit::seconds, 3600},
                                             {"minute", Period::Unit::seconds, 60},
                                             {"second", Period::Unit::seconds, 1}}};

// Below 2^53, so that every whole count is exact.
constexpr double kLargestCount = 1e15;

bool is_whole(double number) { return number == std::floor(number); }

std::string write_count(double count, std::string_view unit) {
  std::array<char, 400> digits;  // enough for the smallest double
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), count, std::chars_format::fixed).ptr;
  std::string text(digits.data(), end);
  text += ' ';
  text += unit;
  return count == 1 ? text : text + 's';
}

std::optional<ScheduleLength> parse(const std::string& text) {
  if (text == "rest") return ScheduleLength{};
  const auto period = parse_period(text);
  if (!period) return std::nullopt;
  if (period->unit == Period::Unit::epochs) return ScheduleLength{Unit::epochs, period->count};
  if (period->unit == Period::Unit::steps) return ScheduleLength{Unit::steps, period->count};
  return std::nullopt;
}

constexpr size_t kDecimals = 6;

std::string write_percentage(int64_t millionths) {
  std::string text = std::to_string(millionths / Subset::kPercent);
  std::string decimals = std::to_string(Subset::kPercent + millionths % Subset::kPercent).substr(1);
  decimals.erase(decimals.find_last_not_of('0') + 1);
  return text + (decimals.empty() ? "" : "." + decimals) + "%";
}

// Removes the digits at the front of the text. None if there are no digits, or more than `most`.
std::optional<int64_t> take_digits(std::string_view& text, size_t most) {
  size_t count = 0;
  int64_t value = 0;
  while (count < text.size() && count <= most && text[count] >= '0' && text[count] <= '9')
    value = 10 * value + (text[count++] - '0');
  if (count == 0 || count > most) return std::nullopt;
  text.remove_prefix(count);
  return value;
}

bool take(std::string_view& text, char letter) {
  if (!text.starts_with(letter)) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<int64_t> take_percentage(std::string_view& text) {
  const auto whole = take_digits(text, 3);
  if (!whole) return std::nullopt;
  int64_t millionths = *whole * Subset::kPercent;
  if (take(text, '.')) {
    const size_t before = text.size();
    auto decimals = take_digits(text, kDecimals);
    if (!decimals) return std::nullopt;
    for (size_t digits = before - text.size(); digits < kDecimals; ++digits) *decimals *= 10;
    millionths += *decimals;
  }
  return take(text, '%') ? std::optional(millionths) : std::nullopt;
}

constexpr int kMaxDevices = 64;  // limit of LibTorch

}  // namespace

std::string to_string(const Period& period) {
  for (const UnitName& known : kUnits) {
    const bool is_smallest = known.size == 1;
    if (known.unit == period.unit && (is_smallest || is_whole(period.count / known.size)))
      return write_count(period.count / known.size, known.name);
  }
  return "never";
}

std::optional<Period> parse_period(std::string_view text, Fractions fractions) {
  if (text == "never") return Period{};
  double count = 0;
  const auto [number_end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || !(count > 0 && count <= kLargestCount)) return std::nullopt;
  std::string_view unit = text.substr(static_cast<size_t>(number_end - text.data()));
  if (!unit.starts_with(' ')) return std::nullopt;
  unit.remove_prefix(1);
  if (unit.ends_with('s')) unit.remove_suffix(1);
  for (const UnitName& known : kUnits) {
    if (unit != known.name) continue;
    const bool is_counted = known.unit != Period::Unit::seconds;
    const Period period{known.unit, count * known.size};
    if (is_counted && !is_whole(count) && !(fractions == Fractions::yes && period.is_fraction())) return std::nullopt;
    return period;
  }
  return std::nullopt;
}

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
  constexpr std::array kLengths = {"decay", "every", "length", "step_size", "t_0", "warmup"};
  return std::ranges::find(kLengths, name) != kLengths.end();
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

std::string to_string(const Subset& subset) {
  const std::string end = write_percentage(subset.end);
  return subset.begin == 0 ? end : write_percentage(subset.begin) + "-" + end;
}

std::optional<Subset> parse_subset(std::string_view text) {
  const auto first = take_percentage(text);
  if (!first) return std::nullopt;
  Subset subset{0, *first};
  if (take(text, '-')) {
    const auto second = take_percentage(text);
    if (!second) return std::nullopt;
    subset = {*first, *second};
  }
  const bool is_range = subset.begin < subset.end && subset.end <= Subset::kWhole;
  return text.empty() && is_range ? std::optional(subset) : std::nullopt;
}

std::string to_string(const DeviceChoice& choice) {
  switch (choice.kind) {
    case DeviceChoice::Kind::automatic: return "auto";
    case DeviceChoice::Kind::cpu: return "cpu";
    case DeviceChoice::Kind::cuda: break;
  }
  return choice.index ? "cuda:" + std::to_string(*choice.index) : "cuda";
}

std::optional<DeviceChoice> parse_device_choice(std::string_view text) {
  using Kind = DeviceChoice::Kind;
  constexpr std::string_view kNumbered = "cuda:";
  DeviceChoice choice;
  choice.kind = text == "auto" ? Kind::automatic : text == "cpu" ? Kind::cpu : Kind::cuda;
  if (choice.kind != Kind::cuda || text == "cuda") return choice;
  if (!text.starts_with(kNumbered)) return std::nullopt;
  text.remove_prefix(kNumbered.size());
  choice.index = formats::parse_number<int>(text);
  if (!choice.index || text.front() == '-' || *choice.index >= kMaxDevices) return std::nullopt;
  return choice;
}

}  // namespace tenon::config
