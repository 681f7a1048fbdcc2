// In which order the samples of a dataset are seen. A function of its arguments alone: nothing to save or restore.
#pragma once

#include <cstdint>
#include <vector>

namespace tenon::data {

// 0, 1, ..., size - 1.
std::vector<int64_t> sequential_order(int64_t size);

// A permutation that depends on (seed, epoch) alone: Fisher-Yates (Durstenfeld, CACM 7(7), 1964) with Philox numbers
// and unbiased bounds (Lemire, "Fast random integer generation in an interval", TOMACS 2019).
std::vector<int64_t> shuffled_order(int64_t size, uint64_t seed, int64_t epoch);

}  // namespace tenon::data
