// What validation says of a plugin: by a function call, and by the built `host validate`.
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

  // The names of the checks with this verdict.
  std::vector<std::string> with(const std::string& verdict) const {
    std::vector<std::string> names;
    for (const auto& [name, found] : verdicts)
      if (found == verdict) names.push_back(name);
    return names;
  }
};

// The options of `host validate`.
struct Options {
  std::vector<std::string> params = {};  // "model.mlp={ inputs = 12 }"
  std::string component = {};
  std::string check = {};
  double timeout_s = 60;
};

// In this process, which starts a process for each check. exit_code is the one of the command.
Answer validate(const std::string& file, const Options& options = {});

// By the host, with these arguments after the file.
Answer validate_by_host(const std::string& file, const std::vector<std::string>& arguments = {});

}  // namespace tenon::bad_plugins
