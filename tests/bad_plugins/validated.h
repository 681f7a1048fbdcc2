// The results of validating a plugin, by a function call or by the built `host validate`.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tenon::bad_plugins {

struct Answer {
  int exit_code;
  // By component and check: "dataset.bad get" -> "pass", "fail", ...
  std::map<std::string, std::string> statuses;
  std::map<std::string, std::string> reasons;
  std::map<std::string, std::string> outputs;
  std::string text;  // the output, for messages of tests

  // The names of the checks with this result.
  std::vector<std::string> with(const std::string& status) const {
    std::vector<std::string> names;
    for (const auto& [name, found] : statuses)
      if (found == status) names.push_back(name);
    return names;
  }
};

// The options of `host validate`.
struct Options {
  std::vector<std::string> params = {};  // "model.mlp={ inputs = 12 }"
  std::string component = {};
  std::string check = {};
  double timeout_s = 600;  // longer than a busy machine needs
};

// Validates in this process, which starts a process for each check. exit_code is that of the command.
Answer validate(const std::string& file, const Options& options = {});

}  // namespace tenon::bad_plugins
