// The user's mistakes, collected so that one run of the host shows all of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "framework/config/place.h"

namespace tenon::config {

class Mistakes {
 public:
  // `what` reads: found; expected; what to do.
  void add(const Place& place, std::string what) { mistakes_.emplace_back(place, std::move(what)); }

  // Throws Error(configuration) with a line for each, in the order of their places, if there are any.
  void throw_if_any() const;

 private:
  std::vector<std::pair<Place, std::string>> mistakes_;
};

}  // namespace tenon::config
