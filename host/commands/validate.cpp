// `host validate FILE`: checks a plugin before a run uses it.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "framework/reporting/terminal/write_output.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/text/format.h"
#include "framework/support/text/format_values.h"
#include "framework/validation/validate.h"
#include "host/command_line/command.h"

namespace tenon::host {

namespace {

using Json = nlohmann::ordered_json;
using support::Error;
using support::ErrorKind;
using validation::CheckResult;
using validation::CheckStatus;

validation::ValidationRequest read_request(const Arguments& arguments) {
  const std::filesystem::path file = arguments.positional().front();
  validation::ValidationRequest request{file,
                                        arguments.get<uint64_t>("seed"),
                                        {},
                                        arguments.text("component"),
                                        arguments.text("check"),
                                        arguments.get<double>("timeout")};
  if (!(request.timeout_s > 0))
    arguments.refuse("--timeout is " + std::to_string(request.timeout_s), "more than 0 seconds");
  if (!support::path_exists(file))
    throw Error(ErrorKind::plugin, "{}: {}; expected a plugin file", support::format_path(file),
                support::describe_path(file));
  request.file = support::find_canonical(file, ErrorKind::plugin);
  for (const std::string& given : arguments.texts("params")) {
    const size_t equals = given.find('=');
    if (equals == std::string::npos)
      throw Error(ErrorKind::configuration,
                  "command options: --params {} has no table; expected, for example, 'model.mlp={{ hidden = [64] }}'",
                  given);
    request.params.push_back({given.substr(0, equals), given.substr(equals + 1)});
  }
  return request;
}

// Returns the command that repeats only this check.
std::string describe_repeat(const CheckResult& result, const Arguments& arguments) {
  std::string command = fmt::format("host validate {} --check {} --component {} --seed {}",
                                    support::quote_for_shell(arguments.positional().front()), result.check->name,
                                    result.component, arguments.get<uint64_t>("seed"));
  for (const std::string& given : arguments.texts("params"))
    if (given.starts_with(result.component + "=")) command += " --params " + support::quote_for_shell(given);
  return command;
}

size_t count(const std::vector<CheckResult>& results, CheckStatus status) {
  return static_cast<size_t>(std::ranges::count(results, status, &CheckResult::status));
}

void print_indented(const std::string& text, const char* margin) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) reporting::write_output("{}{}\n", margin, line);
}

// Prints one row of a table, then the reasons, which are longer than a line.
void print_result(const CheckResult& result, const Arguments& arguments) {
  reporting::write_output("  {:<24} {:<9} {:<22} {}\n", result.component, to_string(result.check->level),
                          result.check->name, result.status == CheckStatus::fail ? "FAIL" : to_string(result.status));
  if (!result.reason.empty()) print_indented(result.reason, "      ");
  if (!result.output.empty()) {
    reporting::write_output_text("      output:\n");
    print_indented(result.output, "        ");
  }
  if (result.status == CheckStatus::fail)
    reporting::write_output("      repeat: {}\n", describe_repeat(result, arguments));
  std::fflush(stdout);
}

void print_summary(const std::vector<CheckResult>& results) {
  reporting::write_output("{} checks: {} passed, {} with a warning, {} failed, {} skipped\n", results.size(),
                          count(results, CheckStatus::pass), count(results, CheckStatus::warning),
                          count(results, CheckStatus::fail), count(results, CheckStatus::skipped));
}

// A component that could not be created without parameters, so that none of its checks ran.
struct Untested {
  std::string component;
  std::string needed_params;
};

std::vector<Untested> find_untested(const std::vector<CheckResult>& results) {
  std::vector<Untested> untested;
  for (const CheckResult& result : results)
    if (!result.needed_params.empty() && (untested.empty() || untested.back().component != result.component))
      untested.push_back({result.component, result.needed_params});
  return untested;
}

void print_as_json(const std::vector<CheckResult>& results, const Arguments& arguments) {
  std::vector<std::string> untested;
  for (const Untested& one : find_untested(results)) untested.push_back(one.component);
  Json checks = Json::array();
  for (const CheckResult& result : results)
    checks.push_back({{"component", result.component},
                      {"level", to_string(result.check->level)},
                      {"check", result.check->name},
                      {"result", to_string(result.status)},
                      {"reason", result.reason},
                      {"output", result.output},
                      {"repeat", describe_repeat(result, arguments)}});
  reporting::write_output_json(Json{{"file", arguments.positional().front()},
                                    {"seed", arguments.get<uint64_t>("seed")},
                                    {"passed", count(results, CheckStatus::pass)},
                                    {"warned", count(results, CheckStatus::warning)},
                                    {"failed", count(results, CheckStatus::fail)},
                                    {"skipped", count(results, CheckStatus::skipped)},
                                    {"not_tried", untested},
                                    {"checks", checks}});
}

void add_validate_options(AddOption& add) {
  add("brief", "print only warnings, failures and the summary");
  add("params", texts_value("KIND.ID=TABLE"),
      "create a component with these parameters, e.g. --params 'model.mlp={ hidden = [64] }'; may be repeated");
  add("component", text_value("KIND.ID"), "run only the checks of this component");
  add("check", text_value("NAME"), "run only this check; the report without --brief names them");
  add("seed", po::value<uint64_t>()->value_name("N")->default_value(0), "seed of the generated inputs");
  add("timeout", number_value("SECONDS")->default_value(30, "30"), "time limit for each call of the plugin");
  add_json_option(add);
}

int validate(const Arguments& arguments) {
  const validation::ValidationRequest request = read_request(arguments);
  const bool is_brief = arguments.has("brief");
  const bool as_json = arguments.wants_json();
  if (!as_json) reporting::write_output("{}, seed {}\n", arguments.positional().front(), request.seed);
  const std::vector<CheckResult> results = validation::validate(request, [&](const CheckResult& result) {
    const bool is_fine = result.status == CheckStatus::pass || result.status == CheckStatus::skipped;
    if (!as_json && !(is_brief && is_fine)) print_result(result, arguments);
  });
  if (results.empty())
    throw Error(ErrorKind::configuration,
                "command options: {} has no check {}; run host validate FILE without --check to list its checks",
                request.component, request.check);
  as_json ? print_as_json(results, arguments) : print_summary(results);
  if (count(results, CheckStatus::fail) > 0) return static_cast<int>(ErrorKind::plugin);
  const std::vector<Untested> untested = find_untested(results);
  if (untested.empty()) return 0;
  std::string names;
  std::string needed;
  for (const Untested& one : untested) {
    names += (names.empty() ? "" : ", ") + one.component;
    needed += fmt::format(" --params '{}'", one.needed_params);
  }
  throw Error(ErrorKind::configuration,
              "command options: no check of {} was run, because parameters without a default are missing; "
              "expected{}, with their values",
              names, needed);
}

}  // namespace

extern const Command validate_command{.name = "validate",
                                      .arguments = "FILE",
                                      .purpose = "check a plugin before you train with it",
                                      .details =
                                          "Runs every check that applies to the plugin's components, each in a "
                                          "separate process. The exit code is 3 if one fails.",
                                      .page = "reference/validate.md",
                                      .add_options = add_validate_options,
                                      .run = validate};

}  // namespace tenon::host
