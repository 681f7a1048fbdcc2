#include "framework/pipeline/watched_figure.h"

#include <vector>

#include "framework/support/error.h"
#include "framework/support/nearest_name.h"

namespace tenon::pipeline {

void check_watched_figure(const optimization::Schedule& schedule, const config::SchedulePlan& plan,
                          const std::map<std::string, int32_t>& known) {
  const std::string* watched = schedule.watched_figure();
  if (watched == nullptr || known.contains(*watched)) return;
  std::vector<std::string> names;
  for (const auto& [name, direction] : known) names.push_back(name);
  throw support::Error(support::ErrorKind::configuration,
                       plan.place + ": schedule.figure is \"" + *watched +
                           "\", which this run does not make; expected a figure of its history" +
                           support::suggest_name(*watched, names));
}

void observe_watched_figure(optimization::Schedule& schedule, const NamedFigures& figures) {
  const std::string* watched = schedule.watched_figure();
  if (watched == nullptr) return;
  for (const auto& [name, value] : figures)
    if (name == *watched) schedule.observe(value);
}

}  // namespace tenon::pipeline
