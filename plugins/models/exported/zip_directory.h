// The directory at the end of a zip archive. https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
#pragma once

#include <cstdint>

#include "plugins/regular_file.h"

namespace exported {

// The bytes of all records after decompression, as the directory states them. Throws std::invalid_argument if the file
// has no directory or the directory is damaged.
uint64_t count_record_bytes(const components::RegularFile& file);

}  // namespace exported
