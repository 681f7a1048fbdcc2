// The host's side of tenon_params: a component's values in the form that crosses.
#pragma once

#include <list>
#include <map>
#include <string>
#include <vector>

#include <tenon/parameters.h>

#include "framework/config/value.h"

// The opaque type of the C headers. Lives for the call of create().
struct tenon_params {
  explicit tenon_params(const tenon::config::Values& values);
  tenon_params(const tenon_params&) = delete;
  tenon_params& operator=(const tenon_params&) = delete;

  std::map<std::string, tenon_value, std::less<>> by_name;  // pointing into the Values given

 private:
  std::list<std::vector<tenon_string>> texts_;  // what the lists of strings point to
};
