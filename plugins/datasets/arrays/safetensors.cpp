#include <array>
#include <string_view>
#include <utility>

#include <tenon/plugin.h>
#include <nlohmann/json.hpp>
#include <tenon/error.hpp>

#include "plugins/datasets/arrays/array.h"

namespace arrays {
namespace {

using nlohmann::json;

struct Type {
  std::string_view name;
  int32_t dtype;
  size_t size;
};

constexpr std::array<Type, 10> kTypes = {{{"F64", TENON_FLOAT64, 8},
                                          {"F32", TENON_FLOAT32, 4},
                                          {"F16", TENON_FLOAT16, 2},
                                          {"BF16", TENON_BFLOAT16, 2},
                                          {"I64", TENON_INT64, 8},
                                          {"I32", TENON_INT32, 4},
                                          {"I16", TENON_INT16, 2},
                                          {"I8", TENON_INT8, 1},
                                          {"U8", TENON_UINT8, 1},
                                          {"BOOL", TENON_BOOL, 1}}};

const Type& find_type(const json& entry, const std::string& place) {
  const json& name = entry.at("dtype");
  for (const Type& type : kTypes) {
    if (name == std::string(type.name)) return type;
  }
  throw tenon::DataError(place + ": its dtype is " + name.dump() +
                         "; expected F64, F32, F16, BF16, I64, I32, I16, I8, U8 or BOOL");
}

// Returns the size of the shape in bytes. Throws std::out_of_range if it exceeds `most`.
size_t bytes_of(const std::vector<int64_t>& shape, size_t element, size_t most) {
  size_t bytes = element;
  for (const int64_t extent : shape) {
    if (extent == 0) return 0;
  }
  for (const int64_t extent : shape) {
    if (extent < 0 || bytes > most / static_cast<size_t>(extent)) throw std::out_of_range("shape");
    bytes *= static_cast<size_t>(extent);
  }
  return bytes;
}

Array read_entry(const std::string& name, const json& entry, Bytes data, const std::string& place) {
  try {
    const Type& type = find_type(entry, place);
    const auto shape = entry.at("shape").get<std::vector<int64_t>>();
    const auto offsets = entry.at("data_offsets").get<std::array<uint64_t, 2>>();
    if (offsets[0] <= offsets[1] && offsets[1] <= data.size() &&
        bytes_of(shape, type.size, data.size()) == offsets[1] - offsets[0]) {
      return {name, type.dtype, shape, data.subspan(offsets[0], offsets[1] - offsets[0]), place};
    }
  } catch (const json::exception&) {
    throw tenon::DataError(place + ": its entry in the header cannot be read; expected dtype, shape and data_offsets");
  } catch (const std::out_of_range&) {
    // Reported below.
  }
  throw tenon::DataError(place + ": its shape, its data_offsets and the file's " + std::to_string(data.size()) +
                         " bytes of data contradict each other; the file was cut off or damaged");
}

}  // namespace

std::vector<Array> read_safetensors(Bytes file, const std::string& path) {
  constexpr size_t kLength = 8;
  uint64_t length = 0;
  for (size_t i = kLength; i > 0 && file.size() >= kLength; --i) length = length << 8 | file[i - 1];
  if (file.size() < kLength || length > file.size() - kLength) {
    throw tenon::DataError(path + ": is neither a .npy file nor a complete safetensors file; expected one of the two");
  }
  const Bytes text = file.subspan(kLength, length);
  const json header = json::parse(text.begin(), text.end(), nullptr, false);
  if (!header.is_object()) {
    throw tenon::DataError(path + ": has no readable header; expected a safetensors or a .npy file");
  }
  std::vector<Array> arrays;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    arrays.push_back(read_entry(name, entry, file.subspan(kLength + length), path + ": tensor \"" + name + '"'));
  }
  if (arrays.empty()) throw tenon::DataError(path + ": holds no tensor");
  return arrays;
}

}  // namespace arrays
