// Charts of the metrics of runs. One chart shows training and validation values of a metric.
#pragma once

#include <string>
#include <vector>

#include "framework/artifacts/drawing/line_chart.h"
#include "framework/reporting/runs/read_run.h"

namespace tenon::reporting {

// The order is: losses, other validation metrics, learning rate and gradient norm, metrics of callbacks. For one run
// the best value of each metric with a direction is marked. For several runs, the name of a series has the number of
// its run: "2, validation". All series of a run have the same colour.
std::vector<artifacts::Chart> make_charts(const std::vector<ReadRun>& runs);

}  // namespace tenon::reporting
