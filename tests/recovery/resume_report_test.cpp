// Tests which differences host verify-resume reports.
#include "host/verify_resume/resume_report.h"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

using namespace tenon::host;

namespace {

RunDifference metric_in(const std::string& file, const std::string& name, bool is_callbacks = true) {
  return {file, name, "differs", is_callbacks};
}

ResumeReport report_with(std::vector<RunDifference> differences, std::vector<RunDifference> repeated) {
  ResumeReport report{{}, 1};
  report.comparison.differences = std::move(differences);
  report.repeated.differences = std::move(repeated);
  return report;
}

}  // namespace

TEST_CASE("a callback's metric that varies in every history is also left out of the manifest") {
  // Its last value, which the manifest has, was the same in both uninterrupted runs.
  const ResumeReport report =
      report_with({metric_in("history.jsonl", "train/seconds"), metric_in("manifest.json", "metric.train/seconds")},
                  {metric_in("history.jsonl", "train/seconds")});
  CHECK(find_left_out(report).size() == 2);
  CHECK(find_counting(report).empty());
  CHECK(is_same(report));
}

TEST_CASE("other differences of the manifest are reported") {
  const ResumeReport report =
      report_with({metric_in("history.jsonl", "train/seconds"), metric_in("manifest.json", "metric.train/loss"),
                   metric_in("manifest.json", "train/seconds"),
                   metric_in("manifest.json", "metric.train/seconds", /*is_callbacks=*/false)},
                  {metric_in("history.jsonl", "train/seconds")});
  CHECK(find_left_out(report).size() == 1);
  CHECK(find_counting(report).size() == 3);
  CHECK_FALSE(is_same(report));
}
