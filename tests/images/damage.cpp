#include "tests/images/damage.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "framework/images/decode/headers.h"

namespace {

using Bytes = std::vector<uint8_t>;

size_t pick(std::mt19937& random, size_t below) { return random() % std::max<size_t>(below, 1); }

void put(Bytes& file, size_t at, uint32_t value, size_t count, bool big_endian) {
  if (at + count > file.size()) return;
  for (size_t i = 0; i < count; ++i) {
    const size_t shift = 8 * (big_endian ? count - 1 - i : i);
    file[at + i] = static_cast<uint8_t>(value >> shift);
  }
}

// The CRC of PNG (ISO/IEC 15948, annex D).
uint32_t checksum(const uint8_t* bytes, size_t count) {
  uint32_t sum = 0xFFFFFFFF;
  for (size_t i = 0; i < count; ++i) {
    sum ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320 : 0);
  }
  return ~sum;
}

void enlarge_jpeg(Bytes& file, uint32_t size, bool width) {
  for (size_t at = images::find_marker(file, 2); at < file.size(); at = images::find_marker(file, at + 1)) {
    if (images::jpeg::is_start_of_frame(file[at])) return put(file, at + (width ? 6 : 4), size & 0xFFFF, 2, true);
  }
}

void enlarge_tiff(Bytes& file, uint32_t size, bool width) {
  size_t directory = 0;
  std::memcpy(&directory, file.data() + 4, 4);  // the files here are little-endian
  for (size_t at = directory + 2; at + 12 <= file.size(); at += 12) {
    if (file[at] != (width ? 0 : 1) || file[at + 1] != 1) continue;  // tags 256 and 257
    put(file, at + 2, 4, 2, false);                                  // LONG
    return put(file, at + 8, size, 4, false);
  }
}

void enlarge_webp(Bytes& file, uint32_t size, bool width) {
  if (std::memcmp(file.data() + 12, "VP8X", 4) == 0) return put(file, width ? 24 : 27, size & 0xFFFFFF, 3, false);
  if (std::memcmp(file.data() + 12, "VP8 ", 4) == 0) return put(file, width ? 26 : 28, size & 0x3FFF, 2, false);
  put(file, 21, size, 4, false);
}

// Replaces the first number after the two bytes of the kind.
void enlarge_pnm(Bytes& file, uint32_t size) {
  const auto is_digit = [](uint8_t byte) { return byte >= '0' && byte <= '9'; };
  const auto first = std::find_if(file.begin() + 2, file.end(), is_digit);
  const auto last = std::find_if_not(first, file.end(), is_digit);
  const std::string text = std::to_string(size);
  file.insert(file.erase(first, last), text.begin(), text.end());
}

void enlarge(DamagedFile& file, std::mt19937& random) {
  const uint32_t sizes[] = {1000, 4000, 9000, 16383, 65535, 1u << 20, 1u << 24, 0x7FFFFFFF, 0xFFFFFFFF, 0};
  const uint32_t size = sizes[pick(random, std::size(sizes))];
  const bool width = random() & 1;
  if (file.extension == ".jpg") enlarge_jpeg(file.bytes, size, width);
  if (file.extension == ".tiff") enlarge_tiff(file.bytes, size, width);
  if (file.extension == ".webp") enlarge_webp(file.bytes, size, width);
  if (file.extension == ".bmp") put(file.bytes, width ? 18 : 22, size, 4, false);
  if (file.extension[1] == 'p' && file.extension != ".png") enlarge_pnm(file.bytes, size);
  if (file.extension == ".png") {
    put(file.bytes, width ? 16 : 20, size, 4, true);
    put(file.bytes, 29, checksum(file.bytes.data() + 12, 17), 4, true);
  }
}

void flip_bits(Bytes& file, std::mt19937& random) {
  for (size_t i = 1 + pick(random, 8); i > 0; --i) {
    file[pick(random, file.size())] ^= static_cast<uint8_t>(1u << pick(random, 8));
  }
}

}  // namespace

const char* name_of(Damage damage) {
  switch (damage) {
    case Damage::flipped_bits: return "flipped bits";
    case Damage::cut: return "cut";
    case Damage::spliced: return "spliced";
    case Damage::left_out: return "a missing part";
    case Damage::repeated: return "a repeated part";
    case Damage::vast_size: return "a huge size";
  }
  return "";
}

DamagedFile damage(const std::vector<DamagedBase>& bases, std::mt19937& random) {
  const DamagedBase& base = bases[pick(random, bases.size())];
  DamagedFile file = {base.extension, static_cast<Damage>(pick(random, 6)), base.bytes};
  Bytes& bytes = file.bytes;
  const size_t from = pick(random, bytes.size());
  const auto begin = bytes.begin() + static_cast<ptrdiff_t>(from);
  const auto length = static_cast<ptrdiff_t>(1 + pick(random, bytes.size() - from));
  switch (file.damage) {
    case Damage::flipped_bits: flip_bits(bytes, random); break;
    case Damage::cut: bytes.resize(from); break;
    case Damage::left_out: bytes.erase(begin, begin + length); break;
    case Damage::repeated: {
      const Bytes part(begin, begin + length);
      bytes.insert(begin, part.begin(), part.end());
      break;
    }
    case Damage::spliced: {
      const Bytes& other = bases[pick(random, bases.size())].bytes;
      const auto start = other.begin() + static_cast<ptrdiff_t>(pick(random, other.size()));
      bytes.resize(from);
      bytes.insert(bytes.end(), start, other.end());
      break;
    }
    case Damage::vast_size: enlarge(file, random); break;
  }
  return file;
}
