#include "framework/validation/validate.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "framework/formats/nearest_name.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"
#include "framework/validation/checks/check_exceptions.h"
#include "framework/validation/checks/checks.h"
#include "framework/validation/session/child_process.h"
#include "framework/validation/session/recording_host.h"

namespace tenon::validation {

const char* to_string(Level level) {
  constexpr const char* kNames[] = {"load", "create", "contract", "training"};
  return kNames[static_cast<size_t>(level)];
}

const char* to_string(CheckStatus status) {
  constexpr const char* kNames[] = {"pass", "warning", "fail", "skipped"};
  return kNames[static_cast<size_t>(status)];
}

namespace {

using support::Error;
using support::ErrorKind;
using Json = nlohmann::json;

const std::string kPlugin = "plugin";

// A component of the file, as reported by the child process that opened it.
struct Found {
  std::string name;  // "dataset.digits"
  std::string kind;
  std::string not_created;  // why its parameters are incomplete or wrong; empty: they are neither
  std::string needed;       // the parameters without a default: "dataset.digits={ path = ... }"
};

// All checks, in the order in which they run.
const std::vector<Check>& all_checks() {
  static const std::vector<Check> all = [] {
    std::vector<Check> list;
    const auto add = [&](const std::string& of, std::vector<Check> checks) {
      for (Check& check : checks) {
        check.of = of;
        list.push_back(std::move(check));
      }
    };
    add(kPlugin, load_checks());
    add("", create_checks());
    add("dataset", dataset_checks());
    add("model", model_checks());
    add("loss", loss_checks());
    add("metric", metric_checks());
    add("callback", callback_checks());
    add("transform", transform_checks());
    add("", isolation_checks());
    add("", state_checks());
    return list;
  }();
  return all;
}

std::string to_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// LibTorch's errors end in a backtrace that does not help the plugin's author.
std::string without_backtrace(const std::string& text) { return text.substr(0, text.find("\nException raised from")); }

std::string run_check(const Check& check, const std::string& component, const ValidationRequest& request) {
  const auto answer = [](CheckStatus status, const std::string& reason) {
    return to_text({{"status", static_cast<int>(status)}, {"reason", reason}});
  };
  try {
    Session session(request.file, request.seed, request.params);
    if (check.of != kPlugin) {
      session.open(component);
      require_no_exception(session.component(), check.name);
    }
    check.run(session);
    session.require_no_escaped();
    std::string warnings;
    for (const std::string& warning : session.warnings()) warnings += (warnings.empty() ? "" : "; ") + warning;
    return answer(warnings.empty() ? CheckStatus::pass : CheckStatus::warning, warnings);
  } catch (const Skipped& skipped) {
    return answer(CheckStatus::skipped, skipped.what());
  } catch (const std::exception& error) {
    return answer(CheckStatus::fail, without_backtrace(error.what()));
  }
}

CheckResult run_in_child_process(const Check& check, const std::string& component, const ValidationRequest& request) {
  const ChildEnd end = run_in_child([&] { return run_check(check, component, request); }, request.timeout_s);
  CheckResult result{component, &check, CheckStatus::fail, "", end.output, ""};
  if (end.how == ChildEnd::How::finished) {
    const Json answer = Json::parse(end.result);
    result.status = static_cast<CheckStatus>(answer["status"].get<int>());
    result.reason = answer["reason"];
  } else {
    result.reason = end.describe();
  }
  if (result.status != CheckStatus::fail) result.output.clear();
  return result;
}

// ---- The components of the file ------------------------------------------------------------------------------------

std::string describe_needed(const components::Component& component) {
  std::string needed;
  for (const config::ParamSchema& param : component.schema.params)
    if (!param.default_value) needed += (needed.empty() ? "" : ", ") + param.name + " = ...";
  return fmt::format("{}={{ {} }}", name_of(component), needed);
}

std::string list_components(const ValidationRequest& request) {
  Json list = Json::array();
  try {
    Session session(request.file, request.seed, request.params);
    session.open("");
    for (const components::Component& component : session.components()) {
      std::string not_created;
      try {
        plan_of(component, request.params);
      } catch (const Error& error) {
        not_created = error.what();
      }
      list.push_back({{"name", name_of(component)},
                      {"kind", config::to_string(component.schema.kind)},
                      {"not_created", not_created},
                      {"needed", describe_needed(component)}});
    }
  } catch (const std::exception&) {
    // A check of the file reports it.
    list.clear();
  }
  return to_text(list);
}

std::vector<Found> find_components(const ValidationRequest& request) {
  const ChildEnd end = run_in_child([&] { return list_components(request); }, request.timeout_s);
  std::vector<Found> found;
  if (end.how != ChildEnd::How::finished) return found;
  for (const Json& each : Json::parse(end.result))
    found.push_back({each["name"], each["kind"], each["not_created"], each["needed"]});
  return found;
}

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::configuration, "command line: " + what); }

void require_known(const ValidationRequest& request, const std::vector<Found>& found) {
  std::vector<std::string> names;
  for (const Found& each : found) names.push_back(each.name);
  const auto require = [&](const std::string& name, const std::string& option) {
    if (std::ranges::find(names, name) == names.end())
      refuse(fmt::format("{} names {}, which is not in {}{}", option, name, request.file.string(),
                         formats::suggest_name(name, names)));
  };
  for (const GivenParams& given : request.params) {
    require(given.component, "--params");
    for (const Found& each : found)
      if (each.name == given.component && !each.not_created.empty())
        throw Error(ErrorKind::configuration, each.not_created);
  }
  if (!request.component.empty() && request.component != kPlugin) require(request.component, "--component");
}

void require_known_check(const std::string& name) {
  std::vector<std::string> names;
  for (const Check& check : all_checks())
    if (std::ranges::find(names, check.name) == names.end()) names.push_back(check.name);
  if (!name.empty() && std::ranges::find(names, name) == names.end())
    refuse(fmt::format("there is no check {}{} (a report without --brief names them)", name,
                       formats::suggest_name(name, names)));
}

// ---- The order of checks -------------------------------------------------------------------------------------------

// The meaning of the need `usable`: after these checks, every function of the kind can be called.
std::vector<std::string> usable(const std::string& kind) {
  if (kind == "dataset") return {"get"};
  if (kind == "model") return {"gradients"};
  if (kind == "loss") return {"gradients", "weight"};
  if (kind == "metric") return {"evaluation"};
  if (kind == "transform") return {"apply"};
  return {"events"};
}

bool belongs_to(const Check& check, const std::string& kind) {
  return check.of.empty() ? kind != kPlugin : check.of == kind;
}

class Validation {
 public:
  Validation(const ValidationRequest& request, const std::function<void(const CheckResult&)>& report)
      : request_(request), report_(report) {}

  void check_all_of(const Found& component) {
    if (!request_.component.empty() && request_.component != component.name) return;
    std::set<std::string> unknown;  // checks that failed or could not run
    for (const Check& check : all_checks()) {
      if (!belongs_to(check, component.kind)) continue;
      if (!request_.check.empty() && request_.check != check.name) continue;
      CheckResult result{component.name, &check, CheckStatus::skipped, blocking(check, component, unknown), "", ""};
      const bool is_blocked = !result.reason.empty();
      if (!is_blocked) result = run_in_child_process(check, component.name, request_);
      if (!component.not_created.empty()) result.needed_params = component.needed;
      if (is_blocked || result.status == CheckStatus::fail) unknown.insert(check.name);
      results_.push_back(result);
      report_(results_.back());
    }
  }

  std::vector<CheckResult> take() { return std::move(results_); }

 private:
  std::string blocking(const Check& check, const Found& component, const std::set<std::string>& unknown) const {
    // Reported once, for `create`. All other checks need it.
    if (!component.not_created.empty() && (check.name == "create" || !request_.check.empty()))
      return fmt::format("{}; set it with --params '{}'", component.not_created, component.needed);
    for (const std::string& need : check.needs)
      for (const std::string& name : need == "usable" ? usable(component.kind) : std::vector<std::string>{need})
        if (unknown.contains(name)) return "needs " + name;
    return "";
  }

  const ValidationRequest& request_;
  const std::function<void(const CheckResult&)>& report_;
  std::vector<CheckResult> results_;
};

}  // namespace

std::vector<CheckResult> validate(const ValidationRequest& request,
                                  const std::function<void(const CheckResult&)>& report) {
  require_known_check(request.check);
  install_recording_functions();
  Validation validation(request, report);
  validation.check_all_of({kPlugin, kPlugin, "", ""});
  const std::vector<Found> found = find_components(request);
  if (!found.empty()) require_known(request, found);
  for (const Found& component : found) validation.check_all_of(component);
  return validation.take();
}

}  // namespace tenon::validation
