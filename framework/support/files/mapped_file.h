// The file that is mapped at an address.
#pragma once

#include <climits>
#include <cstdint>

namespace tenon::support {

struct MappedFile {
  char path[PATH_MAX] = {};  // as in /proc/self/maps: "/data/x.npy", also "/data/x.npy (deleted)"
  uint64_t offset = 0;       // of the address in the file
};

// Reads /proc/self/maps. False if no file is mapped at the address. Allocates nothing. [signal handler]
bool find_mapped_file(uintptr_t address, MappedFile& file) noexcept;

}  // namespace tenon::support
