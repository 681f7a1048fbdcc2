// Encodes Protocol Buffers messages: https://protobuf.dev/programming-guides/encoding.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tenon::artifacts {

// Writes fields in the order of the calls. Default values are written too. proto3 omits them outside of a oneof.
class ProtobufMessage {
 public:
  // Adds an int64 (not negative), enum or bool.
  ProtobufMessage& integer(uint32_t field, uint64_t value) {
    key(field, WireType::varint);
    varint(value);
    return *this;
  }
  ProtobufMessage& real64(uint32_t field, double value) {  // double
    key(field, WireType::fixed64);
    fixed(std::bit_cast<uint64_t>(value));
    return *this;
  }
  // Adds a packed repeated double.
  ProtobufMessage& reals64(uint32_t field, std::span<const double> values) {
    ProtobufMessage packed;
    for (const double value : values) packed.fixed(std::bit_cast<uint64_t>(value));
    return text(field, packed.bytes_);
  }
  ProtobufMessage& real32(uint32_t field, float value) {  // float
    key(field, WireType::fixed32);
    fixed(std::bit_cast<uint32_t>(value));
    return *this;
  }
  // Adds a string, which REQUIRES UTF-8, or bytes.
  ProtobufMessage& text(uint32_t field, std::string_view value) {
    key(field, WireType::length_delimited);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  ProtobufMessage& message(uint32_t field, const ProtobufMessage& value) { return text(field, value.bytes()); }

  const std::string& bytes() const { return bytes_; }

 private:
  enum class WireType : uint32_t { varint = 0, fixed64 = 1, length_delimited = 2, fixed32 = 5 };

  void key(uint32_t field, WireType type) { varint(field << 3 | static_cast<uint32_t>(type)); }

  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  template <class Integer>
  void fixed(Integer value) {
    for (unsigned byte = 0; byte < sizeof value; ++byte) bytes_ += static_cast<char>(value >> 8 * byte & 0xFF);
  }

  std::string bytes_;
};

}  // namespace tenon::artifacts
