// Settings of the whole process or of the calling thread. A plugin's function must leave them unchanged.
#pragma once

#include <string>
#include <vector>

namespace tenon::validation {

struct ProcessSetting {
  const char* check;         // "keeps-locale"
  const char* what;          // "the locale"
  std::string (*read)();     // reads the current value
  std::string allowed = {};  // a value that any function may set, also the first one; empty: none

  bool is_changed(const std::string& before, const std::string& after) const {
    return before != after && (allowed.empty() || (!before.empty() && after != allowed));
  }
};

const std::vector<ProcessSetting>& process_settings();

// Writing to standard output, where a run prints its progress and `--log-format json` its events. Before it is read,
// call divert_output(), which replaces the standard output of this process. read_diverted_output() returns its first
// line.
const ProcessSetting& written_output();
void divert_output();
std::string read_diverted_output();

// Records the descriptors that are open now, which a plugin must leave open. Call it before the plugin is opened. Later
// calls have no effect, so that a plugin may close what it opened.
void record_host_descriptors();

std::vector<std::string> read_process_settings();  // in the order of process_settings()
// "the locale (C, now C.UTF-8), ..."; empty: no changes.
std::string describe_changes(const std::vector<std::string>& before, const std::vector<std::string>& after);

}  // namespace tenon::validation
