#include "framework/distributed/launch/elastic_size.h"

#include <algorithm>
#include <utility>

#include "framework/support/diagnostics/check.h"

namespace tenon::distributed {

ElasticSize::ElasticSize(const ProcessRange& range) : range_(range), processes_(range.most) {
  TENON_CHECK(range.least >= 1 && range.least <= range.most, "processes " << range.least << " to " << range.most);
}

bool ElasticSize::undo_growth() {
  if (before_growth_ == 0) return false;
  constexpr int64_t kMostAwaited = int64_t{1} << 40;
  processes_ = std::exchange(before_growth_, 0);
  awaited_ = std::min(awaited_ * 2, kMostAwaited);
  checkpoints_ = 0;
  return true;
}

bool ElasticSize::lose() {
  if (undo_growth()) return false;
  if (has_lost_) processes_ = std::max(processes_ - 1, range_.least);
  has_lost_ = true;
  checkpoints_ = 0;
  return true;
}

bool ElasticSize::fail_to_start() {
  if (undo_growth()) return true;
  if (processes_ == range_.least) return false;
  --processes_;
  return true;
}

bool ElasticSize::note_checkpoint() {
  before_growth_ = 0;
  if (processes_ == range_.most) {
    has_lost_ = false;
    awaited_ = 1;
    return false;
  }
  if (++checkpoints_ < awaited_) return false;
  before_growth_ = std::exchange(processes_, range_.most);
  checkpoints_ = 0;
  return true;
}

}  // namespace tenon::distributed
