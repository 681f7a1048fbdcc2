// The samples of a dataset that could not be read. With [data] on_error = "skip", a run continues without them.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "framework/data/batch.h"

namespace tenon::data {

class SkippedSamples {
 public:
  static constexpr size_t kMaxWarnings = 20;

  void start_pass(int64_t already) { in_pass_ = already; }

  // Counts the skipped samples of the batch. Logs a warning for each new one, up to kMaxWarnings in a run.
  void add(const Batch& batch);

  int64_t in_pass() const { return in_pass_; }

 private:
  int64_t in_pass_ = 0;
  std::set<int64_t> known_;  // their indices
};

}  // namespace tenon::data
