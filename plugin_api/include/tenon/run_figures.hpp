// Which way the figures of a run are better, for callbacks in C++:
//
//   void on_run_setup(const tenon::Run& run) { sign_ = tenon::figure_direction(run, "validation/accuracy"); }
#pragma once

#include <cstdint>
#include <string_view>

#include "callback.hpp"
#include "detail/extension.hpp"
#include "run_figures.h"

namespace tenon {

// 1: higher is better, -1: lower, 0: neither, or nobody has said, as of the figures that callbacks add; also of all
// figures where the host is older than this question. Throws as Run::figure() does for a name that no figure has.
inline int figure_direction(const Run& run, std::string_view name) {
  const auto* const table = detail::find_extension<tenon_run_figures>(TENON_RUN_FIGURES);
  int32_t direction = 0;
  if (table) detail::check(table->direction(run.get(), detail::borrow(name), &direction));
  return direction;
}

}  // namespace tenon
