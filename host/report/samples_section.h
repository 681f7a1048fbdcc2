// The part of report.html on single samples: which classes are taken for which, and the best and the worst samples.
#pragma once

#include <optional>
#include <string>

#include "host/report/findings.h"
#include "host/report/saved_samples.h"

namespace tenon::host {

std::string print_samples_section(const SavedSamples& samples);

// What is taken for what, in a sentence for each target; none where no classes were counted.
std::optional<Finding> find_mistakes(const SavedSamples& samples);

}  // namespace tenon::host
