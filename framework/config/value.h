// A parameter's value after it was read and checked: what a TOML value can be, as far as schemas know it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace tenon::config {

using Value = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                           std::vector<std::string>>;

// By name. Complete once resolved: every parameter of the schema is there.
using Values = std::map<std::string, Value>;

// The value as TOML writes it: `0.001`, `"train"`, `[1, 2]`. Floats read back to the same bits.
std::string to_toml(const Value& value);

// A key as TOML writes it: quoted where it must be.
std::string to_toml_key(const std::string& key);

}  // namespace tenon::config
