#include "framework/artifacts/run_folder/hyperparameters.h"

#include <algorithm>
#include <array>

#include "framework/artifacts/checkpoint/metric_values.h"
#include "framework/config/plan/compare_plans.h"

namespace tenon::artifacts {

namespace {

constexpr std::array kIgnored{"run.name",
                              "run.output_dir",
                              "run.device",
                              "plugins.",
                              "log.",
                              "checkpoint.",
                              "validation.",
                              "data.workers",
                              "data.prefetch",
                              "data.test",
                              "data.class_names",
                              "distributed.interface",
                              "distributed.timeout_s",
                              "metric[",
                              "model.weights_match",
                              "model.weights_exclude",
                              "model.weights_rename"};

Hyperparameter to_hyperparameter(const config::Node& node) {
  if (const bool* const truth = std::get_if<bool>(&node.value)) return *truth;
  if (const int64_t* const integer = std::get_if<int64_t>(&node.value)) return static_cast<double>(*integer);
  if (const double* const number = std::get_if<double>(&node.value)) return *number;
  if (const std::string* const text = node.as_string()) return *text;
  return config::describe(node);
}

}  // namespace

Hyperparameters find_hyperparameters(const std::string& plan, const std::string& source) {
  Hyperparameters found;
  for (const auto& [key, node] : config::flatten_plan(plan, source)) {
    const std::string& name = key;
    if (std::ranges::none_of(kIgnored, [&](const char* prefix) { return name.starts_with(prefix); }))
      found.emplace(key, to_hyperparameter(node));
  }
  return found;
}

std::string format_hyperparameter(const Hyperparameter& value) {
  if (const bool* const truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const double* const number = std::get_if<double>(&value)) return format_number(*number);
  return std::get<std::string>(value);
}

}  // namespace tenon::artifacts
