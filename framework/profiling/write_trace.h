// A timeline as a file that Perfetto (ui.perfetto.dev) and Chrome (chrome://tracing) open.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "framework/support/timeline.h"

namespace tenon::profiling {

// `operators`: of OperatorTrace::stop(). The spans of the timeline are put beside them on the same clock: those of the
// thread that trains as a track of its own above its operators, "stages". Throws Error(internal) with the path and the
// reason.
void write_trace(const std::string& operators, const support::Timeline& timeline, uint32_t rank,
                 const std::filesystem::path& file);

}  // namespace tenon::profiling
