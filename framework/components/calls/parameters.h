// The host's side of tenon_params: a component's parameter values in the form of the C ABI.
#pragma once

#include <list>
#include <map>
#include <string>
#include <vector>

#include <tenon/parameters.h>

#include "framework/config/toml/value.h"

// The opaque type of the C headers. It lives during the call of create().
struct tenon_params {
  explicit tenon_params(const tenon::config::Values& values);
  tenon_params(const tenon_params&) = delete;
  tenon_params& operator=(const tenon_params&) = delete;

  std::map<std::string, tenon_value, std::less<>> by_name;  // points into the Values

 private:
  std::list<std::vector<tenon_string>> texts_;  // the elements of the lists of strings
};
