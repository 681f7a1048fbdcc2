// The hyperparameters of a plan, for tables that compare runs.
#pragma once

#include <map>
#include <string>
#include <variant>

namespace tenon::artifacts {

using Hyperparameter = std::variant<bool, double, std::string>;
using Hyperparameters = std::map<std::string, Hyperparameter>;  // by key: "optimizer.lr", "loss[0].weight"

// Returns all values of a plan.toml, except those about locations and output. A list becomes text. Throws
// Error(configuration) that names `source` if the text is not TOML.
Hyperparameters find_hyperparameters(const std::string& plan, const std::string& source);

// The run file syntax, with strings unquoted.
std::string format_hyperparameter(const Hyperparameter& value);

}  // namespace tenon::artifacts
