#include "host/report/stage_times.h"

#include <algorithm>

namespace tenon::host {

namespace {

using artifacts::HistoryEvent;
using artifacts::HistoryLine;

bool ends_steps(HistoryEvent event) { return event == HistoryEvent::step || event == HistoryEvent::epoch; }

// What lies between a line and the one before.
struct Interval {
  HistoryEvent event;
  int64_t steps;
  double seconds;
};

// A run that went on may have lines whose times fall by what it did again.
std::vector<Interval> find_intervals(const std::vector<HistoryLine>& history) {
  std::vector<Interval> intervals;
  int64_t step = 0;
  double time_s = 0;
  for (const HistoryLine& line : history) {
    intervals.push_back({line.event, std::max<int64_t>(line.step - step, 0), std::max(line.time_s - time_s, 0.0)});
    step = line.step;
    time_s = line.time_s;
  }
  return intervals;
}

// 0 where no line comes after steps alone.
double find_seconds_per_step(const std::vector<Interval>& intervals) {
  double seconds = 0, steps = 0;
  for (const Interval& one : intervals) {
    if (!ends_steps(one.event) || one.steps == 0) continue;
    seconds += one.seconds;
    steps += static_cast<double>(one.steps);
  }
  return steps > 0 ? seconds / steps : 0;
}

}  // namespace

std::vector<StageTime> find_stage_times(const std::vector<HistoryLine>& history) {
  const std::vector<Interval> intervals = find_intervals(history);
  const double seconds_per_step = find_seconds_per_step(intervals);
  if (seconds_per_step == 0) return {};
  StageTime training{"training steps", 0}, validation{"validation", 0}, saving{"checkpoints", 0},
      rest{"ends of epochs, callbacks", 0};
  for (const Interval& one : intervals) {
    const bool is_mixed = !ends_steps(one.event);
    const double most = static_cast<double>(one.steps) * seconds_per_step;
    const double trained = one.steps == 0 ? 0 : is_mixed ? std::min(one.seconds, most) : one.seconds;
    training.seconds += trained;
    StageTime& other = one.event == HistoryEvent::validation   ? validation
                       : one.event == HistoryEvent::checkpoint ? saving
                                                               : rest;
    other.seconds += one.seconds - trained;
  }
  return {training, validation, saving, rest};
}

}  // namespace tenon::host
