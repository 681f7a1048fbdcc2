// Writes a dataset as tar files in the layout of WebDataset: `000000.image.png`, `000000.label.cls`, sample by sample.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "framework/config/values/class_names.h"
#include "framework/data/sample_source.h"

namespace tenon::packing {

struct PackOptions {
  std::filesystem::path folder;         // folder of the shards; missing or empty
  std::string name;                     // of the dataset; shards are `<name>-000000.tar`, with - for each slash
  std::vector<int64_t> order = {};      // samples in the order of writing
  uint64_t seed = 0;                    // seed of the dataset, see data/plugin_samples.h
  int64_t workers = 0;                  // number of threads that read and encode
  uint64_t shard_bytes = 0;             // maximum size of a shard; 0: no limit
  int64_t shard_samples = 0;            // maximum number of samples of a shard; 0: no limit
  config::ClassNames class_names = {};  // written to each shard as the member `__class_names__`
};

struct PackedShard {
  std::string name;
  int64_t samples;
  uint64_t bytes;
};

// Reads each sample once, in epoch 0. The bytes of the shards depend only on the samples and the options other than
// `workers`. The folder appears when the last shard is complete. Until that point, and after an error, it does not
// exist. Calls `on_shard` for each shard. Returns no shards if `stop` became nonzero. Throws Error(configuration) if
// the folder is not empty or a field cannot be packed, and Error(data) if a shard cannot be written. Errors from
// reading a sample are passed on and name the sample.
std::vector<PackedShard> pack_shards(data::SampleSource& samples, const PackOptions& options,
                                     const std::function<void(const PackedShard&)>& on_shard,
                                     const std::atomic<int>& stop);

}  // namespace tenon::packing
