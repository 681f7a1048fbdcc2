// A tar file that many threads read.
#pragma once

#include <string>

#include "plugins/datasets/tar_shards/byte_source.h"

namespace tar_shards {

class ShardFile final : public ByteSource {
 public:
  enum class Keep { open, closed };

  // Keep::closed opens the file for each read. It is for shards beyond the process's limit of open files. Throws
  // tenon::DataError naming the path if it cannot be opened, or is not a regular file.
  ShardFile(std::string path, Keep keep);
  ~ShardFile() override;
  ShardFile(ShardFile&& other) noexcept;
  ShardFile& operator=(ShardFile&&) = delete;

  const std::string& path() const override { return path_; }
  uint64_t size() const override { return size_; }
  void read(uint64_t offset, std::span<uint8_t> bytes) const override;  // uses pread; any thread may call it

 private:
  std::string path_;
  int descriptor_;  // -1: closed
  uint64_t size_;
};

// Returns how many shards may stay open: half of the process's file limit, because other datasets need files too.
size_t max_open_shards();

}  // namespace tar_shards
