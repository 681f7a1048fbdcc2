// The seed of one dataset of a run. The seeds of its samples and workers are derived from it.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenon::data {

// Depends only on the run's seed and on `name`: "train", "validation", "test", or "validation/<name>" or "test/<name>".
// The datasets of a run have different seeds. So a dataset that generates samples from seeds never validates on
// training samples. "train" has the seed of the run.
uint64_t derive_dataset_seed(uint64_t run_seed, std::string_view name);

}  // namespace tenon::data
