#include "plugins/models/exported/schema.h"

#include <limits>
#include <stdexcept>
#include <string>

#include <torch/csrc/utils/generated_serialization_types.h>

#include "framework/formats/json_depth.h"

namespace exported {
namespace {

// Graphs within graphs nest a few levels; a level needs about ten of JSON.
constexpr int kMostLevels = 200;

[[noreturn]] void refuse(const Json& found, const std::string& expected) {
  throw std::invalid_argument("found " + shorten(found) + "; expected " + expected);
}

}  // namespace

Json parse_json(std::string_view text) {
  if (formats::is_nested_deeper(text, kMostLevels))
    throw std::invalid_argument("nests more than " + std::to_string(kMostLevels) + " levels deep");
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    throw std::invalid_argument(std::string("is not JSON: ") + error.what());
  }
}

const Json& field(const Json& object, const std::string& name) {
  if (!object.is_object()) refuse(object, "an object with the field \"" + name + "\"");
  const auto found = object.find(name);
  if (found == object.end()) refuse(object, "the field \"" + name + "\"");
  return *found;
}

const Json& elements(const Json& list) {
  if (!list.is_array()) refuse(list, "a list");
  return list;
}

const std::string& text(const Json& value) {
  if (!value.is_string()) refuse(value, "a string");
  return value.get_ref<const std::string&>();
}

int64_t integer(const Json& value) {
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() ||
                     value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
  if (!fits) refuse(value, "an integer");
  return value.get<int64_t>();
}

double number(const Json& value) {
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (!value.is_number()) refuse(value, "a number");
  return value.get<double>();
}

bool boolean(const Json& value) {
  if (!value.is_boolean()) refuse(value, "true or false");
  return value.get<bool>();
}

Tagged tagged(const Json& object) {
  if (!object.is_object() || object.size() != 1) refuse(object, "an object with one field, such as {\"as_int\": 3}");
  const auto entry = object.begin();
  return {entry.key(), entry.value()};
}

std::string shorten(const Json& value) {
  constexpr size_t most = 80;
  const std::string whole = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return whole.size() <= most ? whole : whole.substr(0, most) + "...";
}

namespace schema = torch::_export;

c10::ScalarType to_scalar_type(int64_t number) {
  switch (static_cast<schema::ScalarType>(number)) {
    case schema::ScalarType::BYTE: return c10::kByte;
    case schema::ScalarType::CHAR: return c10::kChar;
    case schema::ScalarType::SHORT: return c10::kShort;
    case schema::ScalarType::INT: return c10::kInt;
    case schema::ScalarType::LONG: return c10::kLong;
    case schema::ScalarType::HALF: return c10::kHalf;
    case schema::ScalarType::FLOAT: return c10::kFloat;
    case schema::ScalarType::DOUBLE: return c10::kDouble;
    case schema::ScalarType::COMPLEXHALF: return c10::kComplexHalf;
    case schema::ScalarType::COMPLEXFLOAT: return c10::kComplexFloat;
    case schema::ScalarType::COMPLEXDOUBLE: return c10::kComplexDouble;
    case schema::ScalarType::BOOL: return c10::kBool;
    case schema::ScalarType::BFLOAT16: return c10::kBFloat16;
    default: throw std::invalid_argument("the dtype " + std::to_string(number) + " is not supported");
  }
}

c10::Layout to_layout(int64_t number) {
  if (static_cast<schema::Layout>(number) == schema::Layout::Strided) return c10::kStrided;
  throw std::invalid_argument("the layout " + std::to_string(number) + " is not supported; expected " +
                              std::to_string(static_cast<int64_t>(schema::Layout::Strided)) + ", which is strided");
}

c10::MemoryFormat to_memory_format(int64_t number) {
  switch (static_cast<schema::MemoryFormat>(number)) {
    case schema::MemoryFormat::ContiguousFormat: return c10::MemoryFormat::Contiguous;
    case schema::MemoryFormat::ChannelsLast: return c10::MemoryFormat::ChannelsLast;
    case schema::MemoryFormat::ChannelsLast3d: return c10::MemoryFormat::ChannelsLast3d;
    case schema::MemoryFormat::PreserveFormat: return c10::MemoryFormat::Preserve;
    default: throw std::invalid_argument("the memory format " + std::to_string(number) + " does not exist");
  }
}

}  // namespace exported
