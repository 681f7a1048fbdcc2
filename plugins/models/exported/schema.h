// Reads values of an archive's JSON strictly: nlohmann's conversions turn 1.5 into 1 without a message.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

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

// Whether a tag is that of a number that the graph computes.
inline bool is_symbolic(const std::string& tag) {
  return tag == "as_sym_int" || tag == "as_sym_float" || tag == "as_sym_bool";
}

// Returns the start of the value, for messages.
std::string shorten(const Json& value);

// The enumerations of the archive's schema as those of LibTorch. Each function throws std::invalid_argument for a
// number that the schema does not have.
c10::ScalarType to_scalar_type(int64_t number);
c10::Layout to_layout(int64_t number);
c10::MemoryFormat to_memory_format(int64_t number);

}  // namespace exported
