#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include <tenon/plugin.h>
#include <nlohmann/json.hpp>
#include <tenon/error.hpp>

#include "plugins/datasets/arrays/array.h"

namespace arrays {
namespace {

using nlohmann::json;

// Shortens a name or another text of the file for a message.
std::string shorten(const std::string& text) {
  constexpr size_t kMostShown = 100;  // bytes
  return text.size() <= kMostShown ? text : text.substr(0, kMostShown) + "...";
}

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
  throw tenon::DataError(place + ": its dtype is " + shorten(name.dump()) +
                         "; expected F64, F32, F16, BF16, I64, I32, I16, I8, U8 or BOOL");
}

// Returns the size of the shape in bytes. Throws std::out_of_range if it exceeds `most`, or if an extent is negative.
size_t bytes_of(const std::vector<int64_t>& shape, size_t element, size_t most) {
  size_t bytes = element;
  for (const int64_t extent : shape) {
    if (extent < 0) throw std::out_of_range("shape");
  }
  for (const int64_t extent : shape) {
    if (extent == 0) return 0;
  }
  for (const int64_t extent : shape) {
    if (bytes > most / static_cast<size_t>(extent)) throw std::out_of_range("shape");
    bytes *= static_cast<size_t>(extent);
  }
  return bytes;
}

// Checks the form of a header before it is parsed, in time proportional to its size: with a callback, the parser would
// visit all earlier tensors at the end of each one.
class HeaderForm final : public nlohmann::json_sax<json> {
 public:
  explicit HeaderForm(const std::string& path) : path_(path) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return add_number(); }
  bool number_unsigned(number_unsigned_t) override { return add_number(); }
  bool number_float(number_float_t, const string_t&) override { return add_number(); }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return false; }
  bool parse_error(size_t, const std::string&, const json::exception&) override { return false; }

  bool start_object(size_t) override {
    keys_.emplace_back();
    return open();
  }
  bool end_object() override {
    keys_.pop_back();
    --depth_;
    return true;
  }
  bool start_array(size_t) override {
    numbers_ = 0;
    return open();
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  // Throws tenon::DataError for a key that occurs twice, of which the parser would drop one.
  bool key(string_t& key) override {
    if (keys_.back().insert(key).second) return true;
    throw tenon::DataError(path_ + ": its header has \"" + shorten(key) + "\" twice; expected each " +
                           (depth_ == 1 ? "tensor" : "key") + " once");
  }

 private:
  bool open() {
    constexpr int kDeepest = 3;  // a list of a tensor
    return ++depth_ <= kDeepest;
  }
  bool add_number() { return ++numbers_ <= kMostDimensions; }

  const std::string& path_;
  int depth_ = 0;
  size_t numbers_ = 0;                       // of the list
  std::vector<std::set<std::string>> keys_;  // of the open objects
};

// Returns null for a text that is no JSON object, or is nested deeper than the format, or has a list of more than
// kMostDimensions numbers.
json parse_header(std::span<const uint8_t> text, const std::string& path) {
  // The parser treats a zero byte as the end of the text and would ignore the rest.
  if (text.empty() || text.front() != '{' || std::find(text.begin(), text.end(), 0) != text.end()) return json();
  HeaderForm form(path);
  if (!json::sax_parse(text.begin(), text.end(), &form)) return json();
  return json::parse(text.begin(), text.end(), nullptr, false);
}

bool is_metadata(const json& entry) {
  const auto is_text = [](const json& value) { return value.is_string(); };
  return entry.is_object() && std::all_of(entry.begin(), entry.end(), is_text);
}

// `data` is the offset of the data in the file, and `size` its size.
Array read_entry(const std::string& name, const json& entry, uint64_t data, uint64_t size, const std::string& place) {
  try {
    if (entry.size() > 3) throw json::other_error::create(0, "an unknown key", &entry);
    for (const char* key : {"shape", "data_offsets"}) {
      for (const json& number : entry.at(key)) {
        if (!number.is_number_integer()) throw json::other_error::create(0, "a fraction", &number);
        if (!number.is_number_unsigned()) throw std::out_of_range(key);
      }
    }
    if (entry.at("data_offsets").size() != 2) throw json::other_error::create(0, "not two offsets", &entry);
    const Type& type = find_type(entry, place);
    const auto shape = entry.at("shape").get<std::vector<int64_t>>();
    const auto offsets = entry.at("data_offsets").get<std::array<uint64_t, 2>>();
    if (offsets[0] <= offsets[1] && offsets[1] <= size && bytes_of(shape, type.size, size) == offsets[1] - offsets[0]) {
      return {name, type.dtype, shape, data + offsets[0], offsets[1] - offsets[0], place};
    }
  } catch (const json::exception&) {
    throw tenon::DataError(place + ": its entry in the header cannot be read; expected dtype, shape and data_offsets");
  } catch (const std::out_of_range&) {
    // Reported below.
  }
  throw tenon::DataError(place + ": its shape, its data_offsets and the file's " + std::to_string(size) +
                         " bytes of data contradict each other; the file was cut off or damaged");
}

// The tensors, in any order, must cover the data without gaps or overlaps.
void check_cover(const std::vector<Array>& arrays, uint64_t data, uint64_t end, const std::string& path) {
  std::vector<const Array*> in_place;
  for (const Array& array : arrays) in_place.push_back(&array);
  const auto range = [](const Array* array) { return std::pair(array->offset, array->offset + array->bytes); };
  std::sort(in_place.begin(), in_place.end(), [&](const Array* a, const Array* b) { return range(a) < range(b); });
  uint64_t covered = data;
  for (const Array* array : in_place) {
    if (array->offset != covered) {
      throw tenon::DataError(
          array->place + ": begins at byte " + std::to_string(array->offset - data) + " of the data; expected " +
          std::to_string(covered - data) + ", where the tensor before ends: " +
          (array->offset < covered ? "they overlap" : "there is a gap between them") + "; save the file again");
    }
    covered += array->bytes;
  }
  if (covered == end) return;
  throw tenon::DataError(path + ": its tensors end at byte " + std::to_string(covered - data) +
                         " of the data; expected " + std::to_string(end - data) +
                         ", the end of the file; save the file again");
}

}  // namespace

std::vector<Array> read_safetensors(const plugins::RegularFile& file) {
  constexpr uint64_t kLength = 8;
  constexpr uint64_t kMostHeader = 100'000'000;  // the limit of the reference implementation
  const std::string& path = file.path();
  uint64_t length = UINT64_MAX;
  if (file.size() >= kLength) {
    const std::vector<uint8_t> digits = file.read(0, kLength);
    for (size_t i = kLength; i > 0; --i) length = length << 8 | digits[i - 1];
  }
  if (file.size() < kLength || length > file.size() - kLength || length > kMostHeader) {
    throw tenon::DataError(path + ": is neither a .npy file nor a complete safetensors file; expected one of the two");
  }
  const json header = parse_header(file.read(kLength, length), path);
  if (!header.is_object()) {
    throw tenon::DataError(path + ": has no readable header; expected a safetensors or a .npy file");
  }
  const uint64_t data = kLength + length;
  std::vector<Array> arrays;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      if (is_metadata(entry)) continue;
      throw tenon::DataError(path + ": its __metadata__ is not an object of strings; save the file again");
    }
    arrays.push_back(read_entry(name, entry, data, file.size() - data, path + ": tensor \"" + shorten(name) + '"'));
  }
  if (arrays.empty()) throw tenon::DataError(path + ": holds no tensor");
  check_cover(arrays, data, file.size(), path);
  return arrays;
}

}  // namespace arrays
