// The sections of a report page, and the conclusions and charts in them. Functions that return HTML are format_*.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "framework/artifacts/drawing/line_chart.h"
#include "framework/reporting/report/describe_run.h"
#include "framework/reporting/report/saved_samples.h"
#include "framework/reporting/runs/read_run.h"

namespace tenon::reporting {

struct Finding {
  enum class Rating { good, neutral, bad } rating;
  std::string question;  // "Did it converge?"
  std::string answer;
};

// docs/guides/report.md has the rules. If the history is too short for a question, the answer states that.
std::vector<Finding> find_findings(const ReadRun& run);

// The order is: losses, other validation metrics, learning rate and gradient norm, times, metrics of callbacks. The
// best value of each metric with a direction is marked, and the values of classes, such as iou_0 and iou_1 next to iou,
// are in one chart.
std::vector<artifacts::Chart> make_charts(const ReadRun& run);

// Charts of several runs. The name of a series begins with the label of its run: "lr=0.1, validation". All series of a
// variant have the same colour. REQUIRES: one label for each run.
std::vector<artifacts::Chart> make_charts(const std::vector<ReadRun>& runs, const std::vector<RunLabel>& labels);

// Returns the name of a metric as a title: "validation loss" for validation/loss, "learning rate" for learning_rate.
std::string format_title(std::string metric);

std::string format_samples_section(const SavedSamples& samples);

// Describes the confused classes, one sentence for each target. Returns nothing if no classes were counted.
std::optional<Finding> find_misclassified(const SavedSamples& samples);

// "4 runs", or "2 variants, 4 runs".
std::string count_runs(const std::vector<RunLabel>& labels);

// Returns HTML: a table of the runs, means and deviations over repeated ones, the values of the plans that differ,
// `charts`, and the findings of each run. REQUIRES: two runs or more, with one label for each.
std::string format_several_runs(const std::vector<ReadRun>& runs, const std::vector<RunLabel>& labels,
                                const std::string& charts);

}  // namespace tenon::reporting
