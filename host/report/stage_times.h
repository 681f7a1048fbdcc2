// Where the time of a run went, as far as the lines of its history tell.
#pragma once

#include <string>
#include <vector>

#include "framework/artifacts/history.h"

namespace tenon::host {

struct StageTime {
  std::string stage;
  double seconds;
};

// Between two lines is what the later one is about: steps of training, a validation, the copy for a checkpoint, or the
// end of an epoch, when callbacks are told. Where a validation or a checkpoint follows steps without a line in between,
// the steps are taken to have lasted as long as others of the run. Empty where there are no others.
std::vector<StageTime> find_stage_times(const std::vector<artifacts::HistoryLine>& history);

}  // namespace tenon::host
