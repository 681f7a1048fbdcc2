// The host table of a validated plugin. It forwards to the host's functions and records how the plugin uses them.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <tenon/host.h>

namespace tenon::validation {

struct HostUse {
  std::set<std::string> operators;           // called: "aten::add.Tensor"
  std::vector<std::string> on_wrong_thread;  // functions tagged [train] that were called on another thread: "call"
  std::vector<std::string> over_released;    // releases of handles that the plugin did not own
  int64_t owned;                             // handles that the plugin retained and has not released yet
};

// The host table for opening a validated plugin and creating its components. The thread of the first call is the
// training thread. A handle that the plugin does not own is not released, so that the record can be read afterwards.
const tenon_host& recording_host();

HostUse host_use();  // the record so far

}  // namespace tenon::validation
