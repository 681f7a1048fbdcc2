// Writes a dataset as tar files in the layout of WebDataset: `000000.image.png`, `000000.label.cls`, sample by sample.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "framework/data/sample_source.h"

namespace tenon::packing {

struct PackOptions {
  std::filesystem::path folder;     // of the shards: to be made, or empty
  std::string name;                 // of the dataset; shards are `<name>-000000.tar`, with - for each slash
  std::vector<int64_t> order = {};  // samples, in the order in which they are written
  uint64_t seed = 0;                // of the dataset: see data/dataset_seed.h
  int64_t workers = 0;              // threads that read and encode
  uint64_t shard_bytes = 0;         // a shard ends before it would become larger; 0: it does not
  int64_t shard_samples = 0;        // likewise
};

struct PackedShard {
  std::string name;
  int64_t samples;
  uint64_t bytes;
};

// Each sample is read in epoch 0, once. The bytes of the shards depend on the samples and the options but `workers`
// alone. All shards appear in the folder at once, when the last is complete; before, and after an error, there is
// nothing under the folder's name. `on_shard` is told of each. Gives no shards if `stop` became other than 0.
// Throws Error(configuration) where the folder is not empty or a field cannot be packed, Error(data) where it cannot be
// written, and what reading a sample throws, which names it.
std::vector<PackedShard> pack_shards(data::SampleSource& samples, const PackOptions& options,
                                     const std::function<void(const PackedShard&)>& on_shard,
                                     const std::atomic<int>& stop);

}  // namespace tenon::packing
