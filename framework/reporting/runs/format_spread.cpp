#include "framework/reporting/runs/format_spread.h"

#include <cmath>
#include <cstdio>

namespace tenon::reporting {

namespace {

double deviation_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  const double deviation = std::sqrt(sum / static_cast<double>(values.size() - 1));
  constexpr double kRounding = 1e-14;  // of equal values
  return deviation > kRounding * std::fabs(mean) ? deviation : 0;
}

}  // namespace

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::string format_spread(const std::vector<double>& values) {
  char text[64];
  if (values.size() < 2)
    std::snprintf(text, sizeof text, "%.4g", values.front());
  else
    std::snprintf(text, sizeof text, "%.4g ± %.2g", mean_of(values), deviation_of(values));
  return text;
}

}  // namespace tenon::reporting
