// The checked value of a parameter: the TOML types that schemas support.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace tenon::config {

using Value = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                           std::vector<std::string>>;

// Values by name. After resolving, every parameter of the schema has a value.
using Values = std::map<std::string, Value>;

// The value in TOML syntax: `0.001`, `"train"`, `[1, 2]`. Floats are read back with the same bits.
std::string to_toml(const Value& value);

// A key in TOML syntax, quoted if necessary.
std::string to_toml_key(const std::string& key);

}  // namespace tenon::config
