// Signals for stop and save requests set flags that the training loop reads.
#pragma once

#include <atomic>

namespace tenon::host {

// After this call SIGINT, SIGTERM and SIGHUP set the number below. Another one at least one second later ends the
// process immediately. If SIGINT or SIGHUP was ignored, it stays ignored. SIGPIPE and SIGXFSZ are ignored.
void catch_stop_signals();
const std::atomic<int>& stop_signal();  // 0: no signal arrived

// After this call SIGUSR1 sets the flag below. Without it the signal would end the process.
void catch_save_signal();
std::atomic<bool>& save_signal();

}  // namespace tenon::host
