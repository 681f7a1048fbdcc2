#include "framework/formats/safetensors_header.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <utility>

#include "framework/formats/stored_types.h"

namespace formats {
namespace {

enum class Letter : uint8_t { blank, mark, other };

Letter classify(char letter) {
  switch (letter) {
    case ' ':
    case '\t':
    case '\r':
    case '\n': return Letter::blank;
    case '{':
    case '}':
    case '[':
    case ']':
    case ':':
    case ',':
    case '"': return Letter::mark;
    default: return Letter::other;
  }
}

// Returns the end of the string that starts after the quotation mark at `start`: the next unescaped quotation mark.
size_t find_end_of_text(std::string_view text, size_t start) {
  size_t end = start + 1;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  return std::min(end, text.size());
}

using HeaderJson = nlohmann::json;

constexpr size_t kMaxDimensions = 64;  // as in NumPy; also stops a hostile header from filling memory

// Processes the parser events of the header one by one. Each value is accepted at one position only, so nothing nests
// deeper than the format and nothing unneeded is stored.
class HeaderReader : public nlohmann::json_sax<HeaderJson> {
 public:
  SafetensorsHeader take() { return std::move(header_); }

  bool null() override { refuse("null"); }
  bool boolean(bool value) override { refuse(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { refuse(std::to_string(value)); }  // negative numbers only
  bool number_float(number_float_t, const string_t& text) override { refuse(text.substr(0, 40)); }
  bool binary(binary_t&) override { refuse("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (at_ != At::shape && at_ != At::offsets) refuse(std::to_string(value));
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) refuse(std::to_string(value));
    if (at_ == At::shape) {
      if (entry_.shape.size() == kMaxDimensions)
        fail(tensor() + ": the shape has more than " + std::to_string(kMaxDimensions) + " dimensions");
      entry_.shape.push_back(static_cast<int64_t>(value));
    } else {
      if (offsets_ == 2) fail(tensor() + ": data_offsets has more than 2 numbers; expected begin and end");
      (offsets_++ == 0 ? entry_.begin : entry_.end) = value;
    }
    return true;
  }

  bool string(string_t& value) override {
    if (at_ == At::dtype) {
      const StoredType* type = find_stored_type(value);
      if (!type) {
        const bool is_complex = value == "C64" || value == "C128";
        fail(tensor() + ": dtype is " + quote_name(value) + "; expected " + std::string(list_stored_types()) +
             (is_complex ? "; complex tensors are not supported" : ""));
      }
      entry_.dtype = type->dtype;
      at_ = At::tensor;
    } else if (at_ == At::metadata_value) {
      header_.metadata[key_] = value;
      at_ = At::metadata;
    } else {
      refuse(quote_name(value));
    }
    return true;
  }

  bool start_object(size_t) override {
    return advance({{At::start, At::header}, {At::tensor_start, At::tensor}, {At::metadata_start, At::metadata}},
                   "an object");
  }

  bool key(string_t& key) override {
    if (key.size() > kMaxTensorNameLength)
      fail("the name " + quote_name(key) + " has " + std::to_string(key.size()) + " bytes; expected at most " +
           std::to_string(kMaxTensorNameLength));
    if (at_ == At::header) {
      start_member(key);
    } else if (at_ == At::metadata) {
      if (header_.metadata.contains(key)) fail(std::string(kMetadataKey) + " has " + quote_name(key) + " twice");
      if (header_.metadata.size() == kMaxSafetensors)
        fail(std::string(kMetadataKey) + " has more than " + std::to_string(kMaxSafetensors) + " members");
      key_ = key;
      at_ = At::metadata_value;
    } else {
      start_fact(key);
    }
    return true;
  }

  bool end_object() override {
    if (at_ == At::tensor) {
      if (!has_dtype_) fail(tensor() + " has no dtype");
      if (!has_shape_) fail(tensor() + " has no shape");
      if (!has_offsets_) fail(tensor() + " has no data_offsets");
      header_.tensors.push_back(std::exchange(entry_, {}));
    }
    at_ = at_ == At::tensor || at_ == At::metadata ? At::header : At::end;
    return true;
  }

  bool start_array(size_t) override {
    return advance({{At::shape_start, At::shape}, {At::offsets_start, At::offsets}}, "a list");
  }

  bool end_array() override {
    if (at_ == At::offsets && offsets_ != 2)
      fail(tensor() + ": data_offsets has " + std::to_string(offsets_) + " numbers; expected begin and end");
    at_ = At::tensor;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const HeaderJson::exception& error) override {
    std::string reason = error.what();
    if (const size_t prefix = reason.find("] "); prefix != std::string::npos) reason.erase(0, prefix + 2);
    fail("the header is not JSON, at byte " + std::to_string(position) + ": " +
         HeaderJson(reason.substr(0, 200)).dump(-1, ' ', false, HeaderJson::error_handler_t::replace));
  }

 private:
  // The expected next element.
  enum class At {
    start,
    header,
    tensor_start,
    tensor,
    dtype,
    shape_start,
    shape,
    offsets_start,
    offsets,
    metadata_start,
    metadata,
    metadata_value,
    end
  };

  using Step = std::pair<At, At>;

  // Accepts an element at the first position of one of the steps, and expects the second one next.
  bool advance(std::initializer_list<Step> steps, const char* found) {
    const auto step = std::ranges::find(steps, at_, &Step::first);
    if (step == steps.end()) refuse(found);
    at_ = step->second;
    return true;
  }

  [[noreturn]] static void fail(const std::string& message) { throw std::invalid_argument(message); }

  std::string tensor() const { return "tensor " + quote_name(entry_.name); }

  [[noreturn]] void refuse(const std::string& found) const {
    switch (at_) {
      case At::tensor_start:
        fail(tensor() + " is " + found + "; expected an object with dtype, shape and data_offsets");
      case At::dtype: fail(tensor() + ": dtype is " + found + "; expected a string");
      case At::shape_start: fail(tensor() + ": shape is " + found + "; expected a list of sizes");
      case At::shape: fail(tensor() + ": shape holds " + found + "; expected whole sizes from 0 to 2^63 - 1");
      case At::offsets_start: fail(tensor() + ": data_offsets is " + found + "; expected a list of begin and end");
      case At::offsets:
        fail(tensor() + ": data_offsets holds " + found + "; expected whole numbers from 0 to 2^63 - 1");
      case At::metadata_start: fail(std::string(kMetadataKey) + " is " + found + "; expected an object of strings");
      case At::metadata_value:
        fail(std::string(kMetadataKey) + "." + quote_name(key_) + " is " + found + "; expected a string");
      default: fail("the header is " + found + "; expected an object");
    }
  }

  void start_member(const std::string& key) {
    if (!names_.insert(key).second) fail("the name " + quote_name(key) + " occurs twice");
    if (key == kMetadataKey) {
      at_ = At::metadata_start;
      return;
    }
    if (header_.tensors.size() == kMaxSafetensors)
      fail("the header has more than " + std::to_string(kMaxSafetensors) + " tensors");
    entry_ = {.name = key, .dtype = 0, .shape = {}, .begin = 0, .end = 0};
    has_dtype_ = has_shape_ = has_offsets_ = false;
    offsets_ = 0;
    at_ = At::tensor_start;
  }

  void start_fact(const std::string& key) {
    if (key == "dtype") return start_fact(key, has_dtype_, At::dtype);
    if (key == "shape") return start_fact(key, has_shape_, At::shape_start);
    if (key == "data_offsets") return start_fact(key, has_offsets_, At::offsets_start);
    fail(tensor() + " has the unknown key " + quote_name(key) + "; expected dtype, shape and data_offsets");
  }

  void start_fact(const std::string& key, bool& is_there, At next) {
    if (is_there) fail(tensor() + " has " + key + " twice");
    is_there = true;
    at_ = next;
  }

  At at_ = At::start;
  SafetensorsHeader header_;
  std::unordered_set<std::string> names_;
  SafetensorsEntry entry_{};
  bool has_dtype_ = false, has_shape_ = false, has_offsets_ = false;
  int offsets_ = 0;
  std::string key_;
};

void check_size(const SafetensorsEntry& entry) {
  const auto refuse = [&](const std::string& message) {
    throw std::invalid_argument("tensor " + quote_name(entry.name) + ": " + message);
  };
  const auto expected = count_bytes(entry.shape, find_stored_type(entry.dtype)->bytes);
  if (!expected) refuse("the shape has more elements than memory can hold");
  if (entry.begin > entry.end)
    refuse("data_offsets run from " + std::to_string(entry.begin) + " back to " + std::to_string(entry.end));
  if (entry.end - entry.begin != *expected)
    refuse("data_offsets span " + std::to_string(entry.end - entry.begin) + " bytes; expected " +
           std::to_string(*expected) + " of dtype and shape");
}

// The tensors, in any order, must cover the data from byte 0 to the end of the file without gaps or overlaps.
void check_cover(const std::vector<SafetensorsEntry>& tensors, uint64_t data_bytes) {
  std::vector<const SafetensorsEntry*> in_place;
  for (const auto& entry : tensors) in_place.push_back(&entry);
  std::ranges::sort(in_place, {}, [](const SafetensorsEntry* entry) { return std::pair(entry->begin, entry->end); });
  uint64_t covered = 0;
  for (const SafetensorsEntry* entry : in_place) {
    if (entry->begin != covered || entry->end > data_bytes) {
      const bool is_outside = entry->end > data_bytes;
      throw std::invalid_argument(
          "tensor " + quote_name(entry->name) + ": data_offsets are " + std::to_string(entry->begin) + " to " +
          std::to_string(entry->end) + "; " +
          (is_outside
               ? "the file holds " + std::to_string(data_bytes) + " bytes of data"
               : "expected to begin at " + std::to_string(covered) +
                     (entry->begin < covered ? ", where the tensor before ends (they overlap)" : " (there is a gap)")));
    }
    covered = entry->end;
  }
  if (covered != data_bytes)
    throw std::invalid_argument("the tensors end at byte " + std::to_string(covered) + " of the data; expected " +
                                std::to_string(data_bytes) + ", the end of the file");
}

// Checks the lengths of all strings, numbers and runs of blanks, because the JSON parser keeps several copies of the
// current token and includes it in messages. Lengths are in bytes of the header, including escapes. Throws
// std::invalid_argument. Does not check that the text is JSON.
void check_header_lengths(std::string_view text) {
  constexpr size_t kMaxNumberLength = 1 << 12;  // bytes
  const auto check = [&](const char* what, size_t begin, size_t end, size_t longest) {
    if (end - begin <= longest) return;
    throw std::invalid_argument(std::string("the header has ") + what + " of more than " + std::to_string(longest) +
                                " bytes, at byte " + std::to_string(begin + 1));
  };
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    const Letter kind = classify(text[i]);
    if (kind == Letter::mark) {
      if (text[begin] == '"') {
        i = find_end_of_text(text, begin);
        check("a text", begin + 1, i, kMaxMetadataTextLength);
      }
      ++i;
      continue;
    }
    while (i < text.size() && classify(text[i]) == kind) ++i;
    if (kind == Letter::blank)
      check("blanks", begin, i, kMaxMetadataTextLength);
    else
      check("a number", begin, i, kMaxNumberLength);
  }
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, uint64_t data_bytes) {
  if (!text.starts_with('{'))
    throw std::invalid_argument("the header does not start with {; is this a safetensors file?");
  // The parser treats a zero byte as the end of the text and would ignore the rest.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos)
    throw std::invalid_argument("the header is not JSON, at byte " + std::to_string(zero + 1) + ": a zero byte");
  check_header_lengths(text);
  HeaderReader reader;
  HeaderJson::sax_parse(text.begin(), text.end(), &reader);
  SafetensorsHeader header = reader.take();
  for (const auto& entry : header.tensors) check_size(entry);
  check_cover(header.tensors, data_bytes);
  return header;
}

}  // namespace formats
