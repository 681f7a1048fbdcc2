// A figure that a callback watches by its name in the history.
#pragma once

#include <tenon/plugin.hpp>

#include <optional>
#include <string>

// A figure of the host's that will never be there is a misspelt one, which run_setup is the place to report; others may
// come from another callback.
inline void require_figure(const tenon::Run& run, const std::string& name) {
  if (name.rfind("train/", 0) == 0 || name.rfind("validation/", 0) == 0) run.figure(name);
}

// Its latest value; none while another callback has not given it yet.
inline std::optional<double> read_figure(const tenon::Run& run, const std::string& name) {
  try {
    return run.figure(name);
  } catch (const tenon::Error& error) {
    if (error.status() != TENON_NOT_FOUND) throw;
    return std::nullopt;
  }
}
