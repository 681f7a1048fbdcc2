#include "plugins/datasets/tar_shards/tar_reader.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include <tenon/error.hpp>

#include "framework/formats/strings.h"

namespace tar_shards {
namespace {

constexpr uint64_t kBlock = 512;
// The window holds a few small members with their headers, so that one read covers them.
constexpr uint64_t kWindow = 4096;
constexpr uint64_t kMaxExtension = uint64_t{64} << 10;

uint64_t round_up(uint64_t bytes) { return (bytes + kBlock - 1) / kBlock * kBlock; }

bool is_zero(std::span<const uint8_t> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; });
}

// Returns the text up to the first NUL.
std::string_view text_of(std::span<const uint8_t> field) {
  const std::string_view text(reinterpret_cast<const char*>(field.data()), field.size());
  return text.substr(0, text.find('\0'));
}

// Parses octal digits between blanks and NULs, or a big-endian number in base 256 if the highest bit is set (GNU tar,
// star).
std::optional<uint64_t> number_of(std::span<const uint8_t> field) {
  if (field[0] == 0x80) {
    uint64_t number = 0;
    for (const uint8_t byte : field.subspan(1)) {
      if (number >> 56 != 0) return std::nullopt;
      number = number << 8 | byte;
    }
    return number;
  }
  std::string_view text = text_of(field);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text.empty() ? 0 : formats::parse_number<uint64_t>(text, 8);
}

// Sums the header's bytes, with blanks in place of the checksum. Some old archivers summed signed bytes.
bool has_right_checksum(std::span<const uint8_t> block) {
  const std::span<const uint8_t> field = block.subspan(148, 8);
  const std::optional<uint64_t> stored = number_of(field);
  uint64_t sum = uint64_t{8} * ' ';
  int64_t signed_sum = int64_t{8} * ' ';
  for (size_t i = 0; i < block.size(); ++i) {
    if (i >= 148 && i < 156) continue;
    sum += block[i];
    signed_sum += static_cast<int8_t>(block[i]);
  }
  return stored && (*stored == sum || static_cast<int64_t>(*stored) == signed_sum);
}

std::optional<std::string> compression_of(std::span<const uint8_t> beginning) {
  constexpr std::pair<std::string_view, std::string_view> kKnown[] = {
      {"\x1F\x8B", "gzip"}, {"BZh", "bzip2"}, {"\3757zXZ", "xz"}, {"\x28\xB5\x2F\xFD", "zstd"}};
  const std::string_view text(reinterpret_cast<const char*>(beginning.data()), beginning.size());
  for (const auto& [magic, name] : kKnown) {
    if (text.starts_with(magic)) return std::string(name);
  }
  return std::nullopt;
}

}  // namespace

struct TarReader::Header {
  uint64_t begin;
  std::string name;
  uint64_t size;
  char type;
  uint64_t content() const { return begin + kBlock; }
};

std::string printable(std::string_view name) {
  std::string text(name);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return text;
}

TarReader::TarReader(const ByteSource& source) : source_(source) {
  if (source_.size() == 0) refuse(0, "the file is empty; expected a tar file");
  if (const auto compression = compression_of(at(0, std::min<uint64_t>(source_.size(), 6)))) {
    refuse(0, "the file is compressed by " + *compression +
                  ", so finding a sample requires reading everything before it; expected a plain tar file; uncompress "
                  "it; compression does not make images smaller");
  }
}

std::optional<TarMember> TarReader::next() {
  Extension extension;
  for (;;) {
    if (source_.size() - at_ < kBlock) {
      refuse(at_, "the file ends without the two blocks of zeros that end an archive; it was cut off");
    }
    if (is_zero(at(at_, kBlock))) {
      if (extension.is_there) refuse(at_, "the archive ends where the member of an extended header is expected");
      check_end();
      return std::nullopt;
    }
    Header header = read_header();
    const bool extends = std::string_view("xgLK").find(header.type) != std::string_view::npos;
    if (!extends && extension.size) header.size = *extension.size;
    if (!extends && extension.name) header.name = std::move(*extension.name);
    check_within_file(header);
    at_ = header.content() + round_up(header.size);
    if (extends) {
      extend(header, extension);
    } else if (is_file(header)) {
      return TarMember{std::move(header.name), header.begin, header.content(), header.size};
    } else {
      extension = {};
    }
  }
}

std::span<const uint8_t> TarReader::peek(const TarMember& member, uint64_t count) {
  return at(member.content, std::min(count, member.size));
}

// REQUIRES: the range is within the file.
std::span<const uint8_t> TarReader::at(uint64_t offset, uint64_t count) {
  if (offset < window_at_ || offset + count > window_at_ + window_.size()) {
    window_.resize(std::max(count, std::min(kWindow, source_.size() - offset)));
    source_.read(offset, window_);
    window_at_ = offset;
  }
  return std::span<const uint8_t>(window_).subspan(offset - window_at_, count);
}

TarReader::Header TarReader::read_header() {
  const std::span<const uint8_t> block = at(at_, kBlock);
  if (!has_right_checksum(block)) {
    refuse(at_, "the checksum of the header is wrong; the file is damaged, or not a tar file");
  }
  Header header{at_, std::string(text_of(block.first(100))), 0, static_cast<char>(block[156])};
  const std::string_view magic(reinterpret_cast<const char*>(block.data()) + 257, 8);
  const bool is_posix = magic.starts_with(std::string_view("ustar\0", 6));
  const bool is_gnu = magic == std::string_view("ustar  \0", 8);
  if (!is_posix && !is_gnu && !is_zero(block.subspan(257, 8))) {
    refuse(at_, "the header has an unknown format; expected ustar, pax or GNU tar");
  }
  const std::string_view prefix = is_posix ? text_of(block.subspan(345, 155)) : "";
  if (!prefix.empty()) header.name = std::string(prefix) + '/' + header.name;
  const std::optional<uint64_t> size = number_of(block.subspan(124, 12));
  if (!size) refuse(at_, "the size of the member \"" + printable(header.name) + "\" is not a number");
  header.size = *size;
  return header;
}

void TarReader::check_within_file(const Header& header) const {
  const uint64_t left = source_.size() - header.content();
  if (header.size <= left && round_up(header.size) <= left) return;
  refuse(header.begin, "the member \"" + printable(header.name) + "\" has " + std::to_string(header.size) +
                           " bytes, and the file ends " + std::to_string(left) +
                           " bytes after its header; it was cut off");
}

// Returns false for a folder, and throws for other types.
bool TarReader::is_file(const Header& header) const {
  if (header.name.empty()) refuse(header.begin, "a member has no name");
  const std::string member = "the member \"" + printable(header.name) + "\"";
  const bool is_regular = header.type == '0' || header.type == '\0' || header.type == '7';
  const bool is_folder = header.type == '5' || (is_regular && header.name.back() == '/');
  if (is_folder && header.size != 0) refuse(header.begin, member + " is a folder and has contents");
  if (is_regular || is_folder) return !is_folder;
  const bool is_link = header.type == '1' || header.type == '2';
  refuse(header.begin, member + " is " + (is_link ? "a link" : "of type \"" + printable({&header.type, 1}) + "\"") +
                           "; expected regular files; create the archive with tar --dereference --hard-dereference");
}

void TarReader::extend(const Header& header, Extension& extension) {
  if (header.size > kMaxExtension) {
    refuse(header.begin, "an extended header has " + std::to_string(header.size) + " bytes; expected " +
                             std::to_string(kMaxExtension) + " at most");
  }
  if (header.type == 'L') extension.name = std::string(text_of(at(header.content(), header.size)));
  if (header.type == 'x' || header.type == 'g') read_pax_records(header, extension);
  if (header.type != 'g') extension.is_there = true;
}

// Parses records `LENGTH KEY=VALUE\n`. LENGTH counts every byte.
void TarReader::read_pax_records(const Header& header, Extension& extension) {
  const std::span<const uint8_t> content = at(header.content(), header.size);
  std::string_view rest(reinterpret_cast<const char*>(content.data()), content.size());
  while (!rest.empty()) {
    size_t length = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
    const auto digits = static_cast<size_t>(end - rest.data());
    const bool is_whole = error == std::errc() && length > digits + 1 && length <= rest.size() && rest[digits] == ' ' &&
                          rest[length - 1] == '\n';
    const std::string_view record = is_whole ? rest.substr(digits + 1, length - digits - 2) : "";
    const size_t equals = record.find('=');
    if (equals == std::string_view::npos) refuse(header.begin, "an extended header has an unreadable record");
    rest.remove_prefix(length);

    const std::string_view key = record.substr(0, equals);
    const std::string_view value = record.substr(equals + 1);
    const bool is_sparse = key.starts_with("GNU.sparse.");
    if (is_sparse) refuse(header.begin, "a member is a sparse file; create the archive without tar --sparse");
    if (key != "path" && key != "size") continue;
    if (header.type == 'g') refuse(header.begin, "a global header gives a " + std::string(key) + " to all members");
    if (key == "path") {
      extension.name = std::string(value.substr(0, value.find('\0')));
      continue;
    }
    extension.size = formats::parse_number<uint64_t>(value);
    if (!extension.size) refuse(header.begin, "an extended header gives a size that is not a number");
  }
}

// Archives joined by `cat` have members after the end of the first archive. They would be ignored silently.
void TarReader::check_end() {
  for (uint64_t offset = at_; offset < source_.size();) {
    const uint64_t count = std::min(kWindow, source_.size() - offset);
    if (!is_zero(at(offset, count))) {
      refuse(at_,
             "the file has data after the end of the archive; expected zeros; join archives with tar --concatenate, "
             "not with cat");
    }
    offset += count;
  }
}

void TarReader::refuse(uint64_t offset, const std::string& what) const {
  throw tenon::DataError(source_.path() + ": byte " + std::to_string(offset) + ": " + what);
}

}  // namespace tar_shards
