#include "framework/data/skipped_samples.h"

#include "framework/support/diagnostics/log.h"

namespace tenon::data {

void SkippedSamples::add(const Batch& batch) {
  in_pass_ += static_cast<int64_t>(batch.skipped.size());
  for (const SkippedSample& sample : batch.skipped) {
    if (!known_.insert(sample.index).second || known_.size() > kMaxWarnings) continue;
    support::log_warning("skipped: " + sample.reason +
                         (known_.size() == kMaxWarnings ? "; further skipped samples are counted but not logged" : ""));
  }
}

}  // namespace tenon::data
