// Tar files that the tests write for themselves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

using TarBytes = std::vector<uint8_t>;

// A header of 512 bytes in the format of POSIX ustar, with its checksum.
TarBytes make_tar_header(const std::string& name, uint64_t size, char type = '0');
// Writes the checksum that the header's other bytes have.
void set_tar_checksum(uint8_t* header);

// Members one after the other.
class WrittenTar {
 public:
  WrittenTar& add(const std::string& name, const TarBytes& content, char type = '0');
  WrittenTar& add(const std::string& name, const std::string& content, char type = '0');
  // The archive with its end.
  TarBytes bytes() const;

 private:
  TarBytes bytes_;
};

// A .npy of version 1.0, as numpy.save writes it: make_npy("<f4", "(2, 3)", elements).
TarBytes make_npy(const std::string& descr, const std::string& shape, const TarBytes& elements);
