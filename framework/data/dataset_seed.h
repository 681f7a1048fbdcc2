// The seed of one dataset of a run: what the seeds of its samples and workers are derived from.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenon::data {

// A function of (run seed, which dataset) alone; `name` is "train", "validation" or "validation/<name>". No two
// datasets of a run share it, so that one which makes its samples from their seeds is never validated on what it
// trained on. "train" keeps the run's own seed.
uint64_t derive_dataset_seed(uint64_t run_seed, std::string_view name);

}  // namespace tenon::data
