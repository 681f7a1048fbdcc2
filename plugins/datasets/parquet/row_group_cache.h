// Decoded row groups, in bounded memory that all workers share.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "plugins/datasets/parquet/parquet_file.h"

namespace parquet_dataset {

class RowGroupCache {
 public:
  using Load = std::function<std::shared_ptr<const RowGroup>(size_t number)>;

  // Keeps the row groups used last, in `max_bytes` of memory, and always the latest one. `load` decodes a row group;
  // several threads call it, each with another number.
  RowGroupCache(uint64_t max_bytes, Load load) : max_bytes_(max_bytes), load_(std::move(load)) {}

  // Returns a row group. Waits if another thread decodes it. Rethrows what `load` throws.
  std::shared_ptr<const RowGroup> get(size_t number);

  uint64_t bytes() const;

 private:
  struct Entry {
    std::shared_ptr<const RowGroup> rows;  // null while a thread decodes it
    std::list<size_t>::iterator place;     // in order_, if rows is set
  };

  void keep(size_t number, std::shared_ptr<const RowGroup> rows);

  const uint64_t max_bytes_;
  const Load load_;
  mutable std::mutex mutex_;
  std::condition_variable decoded_;
  std::unordered_map<size_t, Entry> entries_;
  std::list<size_t> order_;  // the row group used last is the first
  uint64_t bytes_ = 0;
};

}  // namespace parquet_dataset
