#include "framework/artifacts/run_folder/record_framing.h"

#include <cstdint>
#include <span>

#include "framework/support/digests/crc32c.h"

namespace tenon::artifacts {

namespace {

constexpr size_t kHeader = sizeof(uint64_t) + sizeof(uint32_t);
constexpr size_t kFooter = sizeof(uint32_t);
constexpr uint64_t kMaxLength = uint64_t{1} << 30;  // events are shorter; longer records are never allocated

template <class Integer>
void append_little_endian(std::string& bytes, Integer value) {
  for (unsigned byte = 0; byte < sizeof value; ++byte) bytes += static_cast<char>(value >> 8 * byte & 0xFF);
}

// A CRC over data that contains CRCs is weak, so stored CRCs are masked.
uint32_t masked_crc32c(std::string_view data) {
  const uint32_t crc = support::crc32c(std::as_bytes(std::span(data)));
  return (crc >> 15 | crc << 17) + 0xA282EAD8;
}

std::string frame_header(uint64_t length) {
  std::string header;
  append_little_endian(header, length);
  append_little_endian(header, masked_crc32c(header));
  return header;
}

}  // namespace

std::string frame_record(std::string_view data) {
  std::string record = frame_header(data.size());
  record += data;
  append_little_endian(record, masked_crc32c(data));
  return record;
}

std::optional<std::string> read_framed_record(std::istream& stream) {
  std::string record(kHeader, '\0');
  if (!stream.read(record.data(), kHeader)) return std::nullopt;
  uint64_t length = 0;
  for (unsigned byte = 0; byte < sizeof length; ++byte)
    length |= static_cast<uint64_t>(static_cast<uint8_t>(record[byte])) << 8 * byte;
  if (length > kMaxLength || record != frame_header(length)) return std::nullopt;
  record.resize(kHeader + length + kFooter);
  if (!stream.read(record.data() + kHeader, static_cast<std::streamsize>(length + kFooter))) return std::nullopt;
  if (record != frame_record(record_data(record))) return std::nullopt;
  return record;
}

std::string_view record_data(std::string_view framed) {
  return framed.substr(kHeader, framed.size() - kHeader - kFooter);
}

}  // namespace tenon::artifacts
