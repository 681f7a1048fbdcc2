// Collects the errors in a run file, so that the host shows all of them at once.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "framework/config/toml/source_location.h"

namespace tenon::config {

class Diagnostics {
 public:
  // `what` states what was found, what was expected and what to do.
  void add(const SourceLocation& place, std::string what) { entries_.emplace_back(place, std::move(what)); }

  // If there are errors, throws Error(configuration) with one line per error, ordered by location.
  void throw_if_any() const;

 private:
  std::vector<std::pair<SourceLocation, std::string>> entries_;
};

}  // namespace tenon::config
