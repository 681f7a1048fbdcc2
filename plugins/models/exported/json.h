// Reads values of parsed JSON strictly: nlohmann's conversions turn 1.5 into 1 without a message.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace exported {

using Json = nlohmann::json;

// Throws std::invalid_argument for text that is not JSON, or that nests too deeply.
Json parse_json(std::string_view text);

// Each function throws std::invalid_argument that shows what was found and what was expected.
const Json& field(const Json& object, const std::string& name);
const Json& elements(const Json& list);  // returns the list
const std::string& text(const Json& value);
int64_t integer(const Json& value);
double number(const Json& value);  // also "Infinity", "-Infinity" and "NaN"
bool boolean(const Json& value);

// A value of a union type of the archive's schema, which is an object with one field: {"as_int": 3}.
struct Tagged {
  const std::string& tag;
  const Json& value;
};
Tagged tagged(const Json& object);

// Returns the start of the value, for messages.
std::string shorten(const Json& value);

}  // namespace exported
