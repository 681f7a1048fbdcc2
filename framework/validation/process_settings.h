// What belongs to the whole process or to the calling thread, and what a plugin's function therefore leaves as it
// found.
#pragma once

#include <string>
#include <vector>

namespace tenon::validation {

struct ProcessSetting {
  const char* check;      // "keeps-locale"
  const char* what;       // "the locale"
  std::string (*read)();  // now
};

const std::vector<ProcessSetting>& process_settings();

std::vector<std::string> read_process_settings();  // in their order
// "the locale (C, now C.UTF-8), ..."; empty: there are none.
std::string describe_changes(const std::vector<std::string>& before, const std::vector<std::string>& after);

}  // namespace tenon::validation
