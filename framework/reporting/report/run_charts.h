// Charts of the metrics of runs. One chart shows training and validation values of a metric.
#pragma once

#include <string>
#include <vector>

#include "framework/artifacts/drawing/line_chart.h"
#include "framework/reporting/report/run_labels.h"
#include "framework/reporting/runs/read_run.h"

namespace tenon::reporting {

// The order is: losses, other validation metrics, learning rate and gradient norm, times, metrics of callbacks. The
// best value of each metric with a direction is marked, and the values of classes, such as iou_0 and iou_1 next to iou,
// are in one chart.
std::vector<artifacts::Chart> make_charts(const ReadRun& run);

// Charts of several runs. The name of a series begins with the label of its run: "lr=0.1, validation". All series of a
// variant have the same colour. REQUIRES: one label for each run.
std::vector<artifacts::Chart> make_charts(const std::vector<ReadRun>& runs, const std::vector<RunLabel>& labels);

// Prints the name of a metric as a title: "validation loss" for validation/loss, "learning rate" for learning_rate.
std::string format_title(std::string metric);

}  // namespace tenon::reporting
