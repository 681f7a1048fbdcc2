// What the curves of a page need to answer to the pointer.
#pragma once

#include <string>

#include "framework/artifacts/drawing/line_chart.h"

namespace tenon::reporting {

extern const char* const kCurveStyle;  // style sheet rules

// Returns a <script> element with the names and points of the chart as JSON for the script. A series of more than 4,000
// points has the first, lowest, highest and last of each thousandth of the steps.
std::string format_curve_data(const artifacts::Chart& chart);

// Returns the <script> elements that replace the SVG charts of #curves.
std::string format_curve_scripts();

}  // namespace tenon::reporting
