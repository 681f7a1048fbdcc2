// Settings of the whole process or of the calling thread. A plugin's function must leave them unchanged.
#pragma once

#include <string>
#include <vector>

namespace tenon::validation {

struct ProcessSetting {
  const char* check;      // "keeps-locale"
  const char* what;       // "the locale"
  std::string (*read)();  // reads the current value
};

const std::vector<ProcessSetting>& process_settings();

// Records the descriptors that are open now, which a plugin must leave open. Call it before the plugin is opened. Later
// calls have no effect, so that a plugin may close what it opened.
void record_host_descriptors();

std::vector<std::string> read_process_settings();  // in the order of process_settings()
// "the locale (C, now C.UTF-8), ..."; empty: no changes.
std::string describe_changes(const std::vector<std::string>& before, const std::vector<std::string>& after);

}  // namespace tenon::validation
