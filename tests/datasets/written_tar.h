// Writes tar files for the tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

using TarBytes = std::vector<uint8_t>;

// Returns a header of 512 bytes in the POSIX ustar format, with its checksum.
TarBytes make_tar_header(const std::string& name, uint64_t size, char type = '0');
// Writes the checksum of the header's other bytes.
void set_tar_checksum(uint8_t* header);

// An archive with its members in order of addition.
class WrittenTar {
 public:
  WrittenTar& add(const std::string& name, const TarBytes& content, char type = '0');
  WrittenTar& add(const std::string& name, const std::string& content, char type = '0');
  // Returns the archive, including its end.
  TarBytes bytes() const;

 private:
  TarBytes bytes_;
};

template <class T>
TarBytes bytes_of(const std::vector<T>& values) {
  const auto* begin = reinterpret_cast<const uint8_t*>(values.data());
  return {begin, begin + values.size() * sizeof(T)};
}

// Returns a .npy file of version 1.0 like numpy.save, with this header or: make_npy("<f4", "(2, 3)", elements).
TarBytes make_npy(std::string header, const TarBytes& elements);
TarBytes make_npy(const std::string& descr, const std::string& shape, const TarBytes& elements);
