// Records how a validated plugin uses the host table.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace tenon::validation {

struct HostUse {
  std::set<std::string> operators;           // called: "aten::add.Tensor"
  std::vector<std::string> on_wrong_thread;  // functions tagged [train] that were called on another thread: "call"
  std::vector<std::string> over_released;    // releases of handles that the plugin did not own
  int64_t owned;                             // handles that the plugin retained and has not released yet
};

// Installs LibTorch's functions with records in the host table. This thread is the training thread. A handle that the
// plugin does not own is not released, so that the record can be read afterwards.
void install_recording_functions();

HostUse host_use();  // the record so far

}  // namespace tenon::validation
