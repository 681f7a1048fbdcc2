// Conclusions from the metrics of a run, as sentences with the relevant numbers.
#pragma once

#include <string>
#include <vector>

#include "framework/reporting/runs/read_run.h"

namespace tenon::reporting {

struct Finding {
  enum class Rating { good, neutral, bad } rating;
  std::string question;  // "Did it converge?"
  std::string answer;
};

// docs/guides/report.md has the rules. If the history is too short for a question, the answer states that.
std::vector<Finding> find_findings(const ReadRun& run);

}  // namespace tenon::reporting
