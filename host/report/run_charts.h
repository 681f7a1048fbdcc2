// The figures of runs as charts: what is of the same kind in one, training beside validation.
#pragma once

#include <string>
#include <vector>

#include "framework/artifacts/line_chart.h"
#include "host/read_run.h"

namespace tenon::host {

// Losses first, then what else is validated, learning rate and gradient norm, and what callbacks have added. Of one run
// the best value of each figure of which one way is better is marked. Of several, series are of the colour and the
// number of their run: "2, validation".
std::vector<artifacts::Chart> make_charts(const std::vector<ReadRun>& runs);

}  // namespace tenon::host
