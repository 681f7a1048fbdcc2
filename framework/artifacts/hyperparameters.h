// What of a plan its figures depend on, for tables that set runs side by side.
#pragma once

#include <map>
#include <string>
#include <variant>

namespace tenon::artifacts {

using Hyperparameter = std::variant<bool, double, std::string>;
using Hyperparameters = std::map<std::string, Hyperparameter>;  // by key: "optimizer.lr", "loss[0].weight"

// All values of a plan.toml, but for those that only say where things are and who is told. A list is text. Throws
// Error(configuration) with `source`, for messages, if the text is not TOML.
Hyperparameters find_hyperparameters(const std::string& plan, const std::string& source);

// As a run file writes it; texts without quotes.
std::string print_hyperparameter(const Hyperparameter& value);

}  // namespace tenon::artifacts
