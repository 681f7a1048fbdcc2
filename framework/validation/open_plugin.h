// From a file to the component that a check looks at. In the process of the check: the plugin's own code runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <tenon/plugin.h>

#include "framework/validation/session.h"

namespace tenon::validation {

std::string name_of(const plugins::Component& component);  // "dataset.digits"

// Loads the file and calls its entry. Throws support::Error, or Failed where it gives no plugin.
tenon_reply call_entry(const std::filesystem::path& file);

// What the component is created with. Throws Error(configuration) for parameters that are missing, unknown or wrong.
config::ComponentPlan plan_of(const plugins::Component& component, const std::vector<GivenParams>& given);

// Opens the session's file, and finds `component` in it unless that is empty. Throws support::Error, or Failed.
void open_plugin(Session& session, const std::string& component);

}  // namespace tenon::validation
