// Runs the built `host validate` on a plugin and reads its answer.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tenon::bad_plugins {

struct Answer {
  int exit_code;
  // By component and check: "dataset.bad get" -> "pass", "fail", ...
  std::map<std::string, std::string> verdicts;
  std::map<std::string, std::string> reasons;
  std::map<std::string, std::string> outputs;
  std::string text;  // what was printed, for messages

  std::vector<std::string> with(const std::string& verdict) const;  // the names of those checks
};

Answer validate(const std::string& file, const std::vector<std::string>& more = {});

}  // namespace tenon::bad_plugins
