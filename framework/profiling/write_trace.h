// Writes a timeline as a trace file for Perfetto (ui.perfetto.dev) and Chrome (chrome://tracing).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "framework/support/diagnostics/timeline.h"

namespace tenon::profiling {

// `operators` is the result of OperatorTrace::stop(). The spans of the timeline are added on the same clock. Those of
// the training thread are a separate track "stages" above its operators. Throws Error(system) with the path and the
// reason.
void write_trace(const std::string& operators, const support::Timeline& timeline, uint32_t rank,
                 const std::filesystem::path& file);

}  // namespace tenon::profiling
