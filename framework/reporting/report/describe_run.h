// The facts about a run that its report and a comparison show.
#pragma once

#include <string>

#include "framework/reporting/runs/read_run.h"

namespace tenon::reporting {

std::string name_of(const ReadRun& run);          // run.name: "digits"
std::string describe_time(const ReadRun& run);    // its start, or its folder if the time is not known
std::string describe_place(const ReadRun& run);   // "3 of 10 epochs, 69 of 230 steps"
std::string describe_length(const ReadRun& run);  // "3 of 10 epochs", or steps if the run is counted in them
std::string describe_device(const ReadRun& run);  // "cpu, 2 processes"; an accelerator is named
std::string describe_best(const ReadRun& run);    // "0.0268 at step 184" for the monitored metric; empty: none
std::string describe_last(const ReadRun& run, const std::string& metric);
std::string format_state(const ReadRun& run);  // HTML

// Returns "2026-11-21 11:30:05" for "2026-11-21T11:30:05+01:00", a time of the machine that trained. Returns another
// text unchanged.
std::string format_local_time(const std::string& iso);

}  // namespace tenon::reporting
