#include "plugins/datasets/parquet/row_group_cache.h"

#include <utility>

namespace parquet_dataset {

std::shared_ptr<const RowGroup> RowGroupCache::get(size_t number) {
  {
    std::unique_lock lock(mutex_);
    for (auto found = entries_.find(number); found != entries_.end(); found = entries_.find(number)) {
      if (found->second.rows) {
        order_.splice(order_.begin(), order_, found->second.place);
        return found->second.rows;
      }
      decoded_.wait(lock);
    }
    entries_[number] = {};
  }
  std::shared_ptr<const RowGroup> rows;
  try {
    rows = load_(number);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    entries_.erase(number);
    decoded_.notify_all();
    throw;
  }
  const std::lock_guard lock(mutex_);
  keep(number, rows);
  decoded_.notify_all();
  return rows;
}

void RowGroupCache::keep(size_t number, std::shared_ptr<const RowGroup> rows) {
  bytes_ += rows->bytes();
  order_.push_front(number);
  entries_[number] = {std::move(rows), order_.begin()};
  while (bytes_ > max_bytes_ && order_.size() > 1) {
    const auto oldest = entries_.find(order_.back());
    bytes_ -= oldest->second.rows->bytes();
    entries_.erase(oldest);
    order_.pop_back();
  }
}

uint64_t RowGroupCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace parquet_dataset
