// Random access to bytes by offset.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tar_shards {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual const std::string& path() const = 0;  // for messages
  virtual uint64_t size() const = 0;
  // Fills `bytes`. Throws tenon::DataError naming path and offset if the read fails. REQUIRES: the range is within
  // size().
  virtual void read(uint64_t offset, std::span<uint8_t> bytes) const = 0;
};

}  // namespace tar_shards
