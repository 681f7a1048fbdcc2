// The mean and the deviation of values of several runs.
#pragma once

#include <string>
#include <vector>

namespace tenon::reporting {

// Prints the mean and, for several values, the sample standard deviation: "0.981 ± 0.004".
std::string format_spread(const std::vector<double>& values);

double mean_of(const std::vector<double>& values);

}  // namespace tenon::reporting
