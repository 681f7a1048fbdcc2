// Files that CMake copies into the program, for report pages.
#pragma once

namespace tenon::reporting {

extern const char* const kChartLibrary;       // uplot/uPlot.iife.min.js
extern const char* const kChartLibraryStyle;  // uplot/uPlot.min.css
extern const char* const kCurveScript;        // curves.js

}  // namespace tenon::reporting
