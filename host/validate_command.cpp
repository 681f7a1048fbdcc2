#include "host/validate_command.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "framework/support/error.h"
#include "framework/validation/validate.h"
#include "host/standard_streams.h"

namespace tenon::host {

namespace {

using Json = nlohmann::ordered_json;
using support::Error;
using support::ErrorKind;
using validation::CheckResult;
using validation::CheckStatus;

validation::ValidationRequest make_request(const CommandLine& line) {
  validation::ValidationRequest request{line.file, line.seed, {}, line.component, line.check, line.timeout_s};
  if (!std::filesystem::exists(line.file))
    throw Error(ErrorKind::plugin, line.file.string() + ": does not exist; expected a plugin file");
  request.file = std::filesystem::canonical(line.file);
  for (const std::string& given : line.params) {
    const size_t equals = given.find('=');
    if (equals == std::string::npos)
      throw Error(ErrorKind::configuration, "command line: --params " + given +
                                                " has no table; expected, for example, 'model.mlp={ hidden = [64] }'");
    request.params.push_back({given.substr(0, equals), given.substr(equals + 1)});
  }
  return request;
}

std::string quote(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return quoted + "'";
}

// Returns the command that repeats only this check.
std::string describe_repeat(const CheckResult& result, const CommandLine& line) {
  std::string command = "host validate " + line.file.string() + " --check " + result.check->name + " --component " +
                        result.component + " --seed " + std::to_string(line.seed);
  for (const std::string& given : line.params)
    if (given.starts_with(result.component + "=")) command += " --params " + quote(given);
  return command;
}

size_t count(const std::vector<CheckResult>& results, CheckStatus status) {
  return static_cast<size_t>(
      std::count_if(results.begin(), results.end(), [&](const CheckResult& one) { return one.status == status; }));
}

void print_indented(const std::string& text, const char* margin) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) write_output("%s%s\n", margin, line.c_str());
}

// Prints one row of a table, then the reasons, which are longer than a line.
void print_result(const CheckResult& result, const CommandLine& line) {
  write_output("  %-24s %-9s %-22s %s\n", result.component.c_str(), to_string(result.check->level),
               result.check->name.c_str(), to_string(result.status));
  if (!result.reason.empty()) print_indented(result.reason, "      ");
  if (!result.output.empty()) {
    write_output("      output:\n");
    print_indented(result.output, "        ");
  }
  if (result.status == CheckStatus::fail) write_output("      repeat: %s\n", describe_repeat(result, line).c_str());
  std::fflush(stdout);
}

void print_summary(const std::vector<CheckResult>& results) {
  write_output("%zu checks: %zu passed, %zu with a warning, %zu failed, %zu skipped\n", results.size(),
               count(results, CheckStatus::pass), count(results, CheckStatus::warning),
               count(results, CheckStatus::fail), count(results, CheckStatus::skipped));
}

// Returns the components without any check. They could not be created without parameters.
std::vector<std::string> find_untested(const std::vector<CheckResult>& results) {
  std::vector<std::string> untested;
  for (const CheckResult& result : results)
    if (result.check->name == "create" && result.status == CheckStatus::skipped) untested.push_back(result.component);
  return untested;
}

void print_as_json(const std::vector<CheckResult>& results, const CommandLine& line) {
  Json checks = Json::array();
  for (const CheckResult& result : results) {
    std::string status = to_string(result.status);
    std::transform(status.begin(), status.end(), status.begin(), [](unsigned char c) { return std::tolower(c); });
    checks.push_back({{"component", result.component},
                      {"level", to_string(result.check->level)},
                      {"check", result.check->name},
                      {"result", status},
                      {"reason", result.reason},
                      {"output", result.output},
                      {"repeat", describe_repeat(result, line)}});
  }
  const Json all{{"file", line.file.string()},
                 {"seed", line.seed},
                 {"passed", count(results, CheckStatus::pass)},
                 {"warned", count(results, CheckStatus::warning)},
                 {"failed", count(results, CheckStatus::fail)},
                 {"skipped", count(results, CheckStatus::skipped)},
                 {"not_tried", find_untested(results)},
                 {"checks", checks}};
  write_output_json(all);
}

}  // namespace

int validate(const CommandLine& line) {
  const validation::ValidationRequest request = make_request(line);
  const bool as_json = line.format == CommandLine::Format::json;
  if (!as_json) write_output("%s, seed %llu\n", line.file.c_str(), static_cast<unsigned long long>(line.seed));
  const std::vector<CheckResult> results = validation::validate(request, [&](const CheckResult& result) {
    const bool is_fine = result.status == CheckStatus::pass || result.status == CheckStatus::skipped;
    if (!as_json && !(line.is_brief && is_fine)) print_result(result, line);
  });
  if (results.empty())
    throw Error(ErrorKind::configuration, "command line: " + line.component + " has no check " + line.check +
                                              "; run host validate FILE without --check to list its checks");
  if (as_json)
    print_as_json(results, line);
  else
    print_summary(results);
  if (count(results, CheckStatus::fail) > 0) return static_cast<int>(ErrorKind::plugin);
  const std::vector<std::string> untested = find_untested(results);
  if (untested.empty()) return 0;
  std::string names;
  for (const std::string& name : untested) names += (names.empty() ? "" : ", ") + name;
  throw Error(ErrorKind::configuration, "command line: no check of " + names +
                                            " was run: a parameter without a default is missing; expected --params '" +
                                            untested.front() + "={ ... }'");
}

}  // namespace tenon::host
