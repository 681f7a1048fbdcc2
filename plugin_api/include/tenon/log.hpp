// Lines of a plugin's in the run's log, headed by its id. Not for what happens often: figures go to the history.
#pragma once

#include <string_view>

#include "detail/guard.hpp"

namespace tenon {

inline void log_info(std::string_view line) { detail::host->log(TENON_LOG_INFO, detail::borrow(line)); }
inline void log_warning(std::string_view line) { detail::host->log(TENON_LOG_WARNING, detail::borrow(line)); }

}  // namespace tenon
