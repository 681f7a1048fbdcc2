#include "tests/datasets/written_tar.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

void set_tar_checksum(uint8_t* header) {
  std::fill_n(header + 148, 8, uint8_t{' '});
  unsigned int sum = 0;
  for (int i = 0; i < 512; ++i) sum += header[i];
  std::snprintf(reinterpret_cast<char*>(header) + 148, 8, "%06o", sum);
}

TarBytes make_tar_header(const std::string& name, uint64_t size, char type) {
  TarBytes header(512, 0);
  char* text = reinterpret_cast<char*>(header.data());
  std::copy_n(name.data(), std::min<size_t>(name.size(), 100), text);
  std::memcpy(text + 100, "0000644", 8);
  std::snprintf(text + 124, 12, "%011llo", static_cast<unsigned long long>(size));
  text[156] = type;
  constexpr char kMagic[] = {'u', 's', 't', 'a', 'r', '\0', '0', '0'};
  std::ranges::copy(kMagic, text + 257);
  set_tar_checksum(header.data());
  return header;
}

WrittenTar& WrittenTar::add(const std::string& name, const TarBytes& content, char type) {
  const TarBytes header = make_tar_header(name, content.size(), type);
  bytes_.insert(bytes_.end(), header.begin(), header.end());
  bytes_.insert(bytes_.end(), content.begin(), content.end());
  bytes_.resize((bytes_.size() + 511) / 512 * 512, 0);
  return *this;
}

WrittenTar& WrittenTar::add(const std::string& name, const std::string& content, char type) {
  return add(name, TarBytes(content.begin(), content.end()), type);
}

TarBytes WrittenTar::bytes() const {
  TarBytes whole = bytes_;
  whole.resize(whole.size() + 1024, 0);
  return whole;
}

TarBytes make_npy(const std::string& descr, const std::string& shape, const TarBytes& elements) {
  return make_npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }", elements);
}

TarBytes make_npy(std::string header, const TarBytes& elements) {
  header.resize((10 + header.size()) / 64 * 64 + 64 - 11, ' ');
  header += '\n';
  const std::string start = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size() % 256) +
                            static_cast<char>(header.size() / 256) + header;
  TarBytes file(start.begin(), start.end());
  file.insert(file.end(), elements.begin(), elements.end());
  return file;
}
