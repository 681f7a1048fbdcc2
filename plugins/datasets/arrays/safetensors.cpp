#include <algorithm>
#include <stdexcept>
#include <string_view>

#include <tenon/error.hpp>

#include "framework/formats/safetensors_header.h"
#include "framework/formats/stored_types.h"
#include "plugins/datasets/arrays/array.h"

namespace arrays {

std::vector<Array> read_safetensors(const components::RegularFile& file) {
  constexpr uint64_t kLength = 8;
  const std::string& path = file.path();
  uint64_t length = UINT64_MAX;
  if (file.size() >= kLength) {
    const std::vector<uint8_t> digits = file.read(0, kLength);
    for (size_t i = kLength; i > 0; --i) length = length << 8 | digits[i - 1];
  }
  if (file.size() < kLength || length > file.size() - kLength || length > formats::kLargestSafetensorsHeader) {
    throw tenon::DataError(path + ": is neither a .npy file nor a complete safetensors file; expected one of the two");
  }
  const uint64_t data = kLength + length;
  const std::vector<uint8_t> text = file.read(kLength, length);
  formats::SafetensorsHeader header;
  try {
    header = formats::parse_safetensors_header({reinterpret_cast<const char*>(text.data()), text.size()},
                                               file.size() - data);
  } catch (const std::invalid_argument& error) {
    throw tenon::DataError(path + ": " + error.what() + "; save the file again");
  }
  if (header.tensors.empty()) throw tenon::DataError(path + ": holds no tensor");
  std::ranges::sort(header.tensors, {}, &formats::SafetensorsEntry::name);
  std::vector<Array> arrays;
  for (const formats::SafetensorsEntry& entry : header.tensors)
    arrays.push_back({entry.name, entry.dtype, entry.shape, data + entry.begin, entry.end - entry.begin,
                      path + ": tensor " + formats::quote_name(entry.name)});
  return arrays;
}

}  // namespace arrays
