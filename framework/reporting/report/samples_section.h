// The section of report.html on single samples: confusion between classes, and the best and worst samples.
#pragma once

#include <optional>
#include <string>

#include "framework/reporting/report/findings.h"
#include "framework/reporting/report/saved_samples.h"

namespace tenon::reporting {

std::string format_samples_section(const SavedSamples& samples);

// Describes the confused classes, one sentence for each target. Returns nothing if no classes were counted.
std::optional<Finding> find_misclassified(const SavedSamples& samples);

}  // namespace tenon::reporting
