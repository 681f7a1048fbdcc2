// Opens the file and finds the component that a check needs. Runs in the process of the check, with code of the plugin.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <tenon/plugin.h>

#include "framework/validation/session/session.h"

namespace tenon::validation {

std::string name_of(const components::Component& component);  // "dataset.digits"

// Loads the file and calls its entry. Throws support::Error, or Failed if it returns no plugin.
tenon_reply call_entry(const std::filesystem::path& file);

// The parameters for creating the component. Throws Error(configuration) if some are missing, unknown or invalid.
config::ComponentPlan plan_of(const components::Component& component, const std::vector<GivenParams>& given);

// Opens the session's file, and finds `component` in it unless that is empty. Throws support::Error, or Failed.
void open_plugin(Session& session, const std::string& component);

}  // namespace tenon::validation
