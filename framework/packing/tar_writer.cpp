#include "framework/packing/tar_writer.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "framework/support/diagnostics/error.h"

namespace tenon::packing {

namespace {

constexpr size_t kBlock = 512;
constexpr size_t kMaxName = 100;
constexpr uint64_t kMaxSize = (uint64_t{1} << 33) - 1;  // eleven octal digits

using Header = std::array<char, kBlock>;

uint64_t round_up(uint64_t bytes) { return (bytes + kBlock - 1) / kBlock * kBlock; }

void put_octal(Header& header, size_t at, size_t digits, uint64_t number) {
  for (size_t i = digits; i > 0; --i, number >>= 3) header[at + i - 1] = static_cast<char>('0' + (number & 7));
}

Header make_header(const std::string& name, uint64_t size, char type) {
  Header header = {};
  std::copy_n(name.data(), std::min(name.size(), kMaxName), header.data());
  put_octal(header, 100, 7, 0644);
  put_octal(header, 108, 7, 0);  // user
  put_octal(header, 116, 7, 0);  // group
  put_octal(header, 124, 11, size);
  put_octal(header, 136, 11, 0);  // time
  header[156] = type;
  std::memcpy(&header[257],
              "ustar\0"
              "00",
              8);
  std::memset(&header[148], ' ', 8);
  uint64_t sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put_octal(header, 148, 6, sum);
  header[154] = '\0';
  return header;
}

// Returns `LENGTH path=NAME\n`. LENGTH is the number of all bytes, including its digits.
std::string make_path_record(const std::string& name) {
  const std::string rest = " path=" + name + "\n";
  size_t length = rest.size();
  while (std::to_string(length).size() + rest.size() != length) ++length;
  return std::to_string(length) + rest;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

uint64_t count_member_bytes(const std::string& name, uint64_t size) {
  const uint64_t extended = name.size() > kMaxName ? kBlock + round_up(make_path_record(name).size()) : 0;
  return extended + kBlock + round_up(size);
}

void TarWriter::add(const std::string& name, std::span<const std::byte> content) {
  if (content.size() > kMaxSize)
    throw support::Error(support::ErrorKind::data, "the file " + name + " of a sample has " +
                                                       std::to_string(content.size()) +
                                                       " bytes; expected less than 8 GiB, the limit of tar");
  if (name.size() > kMaxName) add_entry("pax", bytes_of(make_path_record(name)), 'x');
  add_entry(name, content, '0');
}

void TarWriter::add_entry(const std::string& name, std::span<const std::byte> content, char type) {
  const Header header = make_header(name, content.size(), type);
  file_.write(std::as_bytes(std::span(header)));
  file_.write(content);
  bytes_ += kBlock + content.size();
  pad();
}

void TarWriter::pad() {
  static constexpr std::array<std::byte, kBlock> kZeros = {};
  const size_t missing = round_up(bytes_) - bytes_;
  file_.write(std::span(kZeros).first(missing));
  bytes_ += missing;
}

void TarWriter::finish() {
  static constexpr std::array<std::byte, 2 * kBlock> kEnd = {};
  file_.write(kEnd);
  bytes_ += kEnd.size();
  file_.commit();
}

}  // namespace tenon::packing
