// What the figures of a run say, in sentences with the numbers that they rest on.
#pragma once

#include <string>
#include <vector>

#include "host/read_run.h"

namespace tenon::host {

struct Finding {
  enum class Mood { good, neutral, bad } mood;
  std::string question;  // "Did it converge?"
  std::string answer;
};

// The rules are in docs/report.md. What the history is too short for is said to be so.
std::vector<Finding> find_findings(const ReadRun& run);

}  // namespace tenon::host
