// A tar file that is read from many threads.
#pragma once

#include <string>

#include "plugins/datasets/tar_shards/byte_source.h"

namespace tar_shards {

class ShardFile final : public ByteSource {
 public:
  enum class Keep { open, closed };

  // Keep::closed opens the file anew for each read, for the shards beyond those that a process may have open at once.
  // Throws tenon::DataError naming the path: it cannot be opened, or is no regular file.
  ShardFile(std::string path, Keep keep);
  ~ShardFile() override;
  ShardFile(ShardFile&& other) noexcept;
  ShardFile& operator=(ShardFile&&) = delete;

  const std::string& path() const override { return path_; }
  uint64_t size() const override { return size_; }
  void read(uint64_t offset, std::span<uint8_t> bytes) const override;  // pread: any thread

 private:
  std::string path_;
  int descriptor_;  // -1: closed
  uint64_t size_;
};

// How many shards may stay open: half of the files that the process may have, for other datasets want some too.
size_t most_open_shards();

}  // namespace tar_shards
