#include "framework/reporting/predictions/print_element.h"

#include <tenon/abi.h>

#include <charconv>
#include <cmath>
#include <type_traits>

namespace tenon::reporting {

namespace {

template <class T>
void print(std::string& text, T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) {
      text += "NaN";
      return;
    }
    if (std::isinf(value)) {
      text += value < 0 ? "-Infinity" : "Infinity";
      return;
    }
  }
  char digits[32];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

}  // namespace

void print_element(std::string& text, int32_t dtype, const std::byte* data) {
  switch (dtype) {
    case TENON_BOOL:
    case TENON_UINT8: return print(text, read_element<uint8_t>(data));
    case TENON_INT8: return print(text, read_element<int8_t>(data));
    case TENON_INT16: return print(text, read_element<int16_t>(data));
    case TENON_INT32: return print(text, read_element<int32_t>(data));
    case TENON_INT64: return print(text, read_element<int64_t>(data));
    case TENON_FLOAT64: return print(text, read_element<double>(data));
    default: return print(text, read_element<float>(data));
  }
}

}  // namespace tenon::reporting
