// A tar file that many threads read.
#pragma once

#include <string>
#include <utility>

#include "plugins/datasets/tar_shards/byte_source.h"
#include "plugins/regular_file.h"

namespace tar_shards {

class ShardFile final : public ByteSource {
 public:
  using Keep = components::RegularFile::Keep;

  // Throws tenon::DataError like components::RegularFile.
  ShardFile(std::string path, Keep keep) : file_(std::move(path), "a tar file", keep) {}

  const std::string& path() const override { return file_.path(); }
  uint64_t size() const override { return file_.size(); }
  void read(uint64_t offset, std::span<uint8_t> bytes) const override { file_.read(offset, bytes); }
  const components::RegularFile& file() const { return file_; }

 private:
  components::RegularFile file_;
};

// Returns how many shards may stay open: half of the process's file limit, because other datasets need files too.
size_t max_open_shards();

}  // namespace tar_shards
