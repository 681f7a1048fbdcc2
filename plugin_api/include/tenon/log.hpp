// Writes lines to the log of the run. Each line starts with the plugin's id. For frequent values, use the history
// instead (Run::log_scalar).
#pragma once

#include <string_view>

#include "detail/guard.hpp"

namespace tenon {

inline void log_info(std::string_view line) { detail::host->log(TENON_LOG_INFO, detail::borrow(line)); }
inline void log_warning(std::string_view line) { detail::host->log(TENON_LOG_WARNING, detail::borrow(line)); }

}  // namespace tenon
