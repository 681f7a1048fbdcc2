// Reads arbitrary bytes as a tar file, and as a shard of samples. A wrong file is refused with tenon::Error, and the
// members and samples of an accepted one lie within it.
#include <algorithm>
#include <cstring>
#include <string>

#include <tenon/error.hpp>

#include "plugins/datasets/tar_shards/shard_index.h"
#include "plugins/datasets/tar_shards/tar_reader.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace tenon::fuzz;
using namespace tar_shards;

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(Input bytes) : bytes_(bytes) {}
  const std::string& path() const override { return path_; }
  uint64_t size() const override { return bytes_.size(); }
  void read(uint64_t offset, std::span<uint8_t> bytes) const override {
    require(offset <= bytes_.size() && bytes.size() <= bytes_.size() - offset);
    if (!bytes.empty()) std::memcpy(bytes.data(), bytes_.data() + offset, bytes.size());
  }

 private:
  Input bytes_;
  std::string path_ = "fuzzed.tar";
};

void read_members(Input input) {
  const MemorySource source(input);
  TarReader reader(source);
  uint64_t end = 0;
  while (const auto member = reader.next()) {
    require(member->header >= end && member->content > member->header);
    require(member->content <= input.size() && member->size <= input.size() - member->content);
    end = member->content + member->size;
    const uint64_t most = std::min<uint64_t>(member->size, 1000);
    const auto bytes = reader.peek(*member, 1000);
    require(bytes.size() == most);
    require(std::equal(bytes.begin(), bytes.end(), input.begin() + static_cast<ptrdiff_t>(member->content)));
    require(printable(member->name).find('\x1b') == std::string::npos);
  }
}

void check_stored(const Stored& stored, size_t bytes) {
  require(stored.offset <= bytes && stored.size <= bytes - stored.offset);
}

void read_samples(Input input) {
  const MemoryFile file(input);
  const ShardIndex index({file.path()}, {}, {});
  for (size_t sample = 0; sample < index.size(); ++sample) {
    for (const ShardIndex::Field& field : index.fields()) {
      if (const auto* images = std::get_if<ImageColumn>(&field.column)) check_stored(images->at(sample), input.size());
      if (const auto* arrays = std::get_if<ArrayColumn>(&field.column)) {
        check_stored(arrays->at(sample), input.size());
        require(arrays->shape_of(sample).size() == arrays->shape().size());
      }
      if (const auto* labels = std::get_if<LabelColumn>(&field.column)) (void)labels->at(sample);
      (void)index.class_names(field.field);
    }
  }
}

}  // namespace

TENON_FUZZ_TARGET(tar) {
  try {
    read_members(input);
  } catch (const tenon::DataError&) {
  }
  try {
    read_samples(input);
  } catch (const tenon::Error&) {
  }
}
