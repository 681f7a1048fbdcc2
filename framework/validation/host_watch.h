// The host's table as a validated plugin sees it: what the host gives, and a record of how the plugin uses it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <tenon/host.h>

namespace tenon::validation {

struct HostUse {
  std::set<std::string> operators;           // called: "aten::add.Tensor"
  std::vector<std::string> on_wrong_thread;  // functions tagged [train] that were called on another: "call in forward"
  std::vector<std::string> over_released;    // releases of handles that the plugin did not own
  int64_t owned;                             // handles that it retained and has not released yet
};

// What validated plugins are opened and created with. The thread of the first call is the training thread. A handle
// that the plugin does not own is not released, so that the record can be read afterwards.
const tenon_host& watched_host();

HostUse host_use();  // so far

}  // namespace tenon::validation
