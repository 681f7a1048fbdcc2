#include "plugins/models/exported/dtypes.h"

#include <torch/csrc/utils/generated_serialization_types.h>

#include <stdexcept>
#include <string>

namespace exported {

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
