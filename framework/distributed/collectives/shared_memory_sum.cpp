#include "framework/distributed/collectives/shared_memory_sum.h"

#include <ATen/record_function.h>
#include <torch/types.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#include "framework/distributed/collectives/open_shared_pages.h"
#include "framework/support/check.h"

namespace tenon::distributed {

namespace {

// Sums in the order of the ranks, independent of the rank that computes the sum.
template <class T>
void add_up(const std::vector<const std::byte*>& parts, int64_t count, T* sums) {
  using Wide = std::conditional_t<sizeof(T) == 2, float, T>;
  std::vector<const T*> values;
  for (const std::byte* part : parts) values.push_back(reinterpret_cast<const T*>(part));
  if (values.size() == 2) {  // the most frequent case, in one loop that the compiler vectorises
    const T* const first = values[0];
    const T* const second = values[1];
    for (int64_t i = 0; i < count; ++i)
      sums[i] = static_cast<T>(static_cast<Wide>(first[i]) + static_cast<Wide>(second[i]));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    Wide sum = static_cast<Wide>(values[0][i]);
    for (size_t r = 1; r < values.size(); ++r) sum += static_cast<Wide>(values[r][i]);
    sums[i] = static_cast<T>(sum);
  }
}

void add_up(const std::vector<const std::byte*>& parts, int64_t count, at::ScalarType dtype, std::byte* sums) {
  switch (dtype) {
    case at::kDouble: return add_up(parts, count, reinterpret_cast<double*>(sums));
    case at::kHalf: return add_up(parts, count, reinterpret_cast<at::Half*>(sums));
    case at::kBFloat16: return add_up(parts, count, reinterpret_cast<at::BFloat16*>(sums));
    default: return add_up(parts, count, reinterpret_cast<float*>(sums));
  }
}

// Sends a tensor through the slots in parts. A rank writes a part and then sums the previous one, so that the other
// ranks have time to write theirs.
class SharedMemoryReduce {
 public:
  SharedMemoryReduce(SharedPages& pages, uint32_t& next, const at::Tensor& tensor)
      : pages_(pages), next_(next), dtype_(tensor.scalar_type()), width_(tensor.element_size()) {
    bytes_ = static_cast<std::byte*>(tensor.mutable_data_ptr());
    size_ = tensor.nbytes();
  }

  void run() {
    const size_t parts = (size_ + SharedPages::kSlotBytes - 1) / SharedPages::kSlotBytes;
    const uint32_t first = next_;
    next_ += static_cast<uint32_t>(parts);
    for (size_t i = 0; i <= parts; ++i) {
      if (i < parts) write(first, i);
      if (i > 0) read(first, i - 1);
    }
  }

 private:
  size_t bytes_in(size_t part) const {
    return std::min(SharedPages::kSlotBytes, size_ - part * SharedPages::kSlotBytes);
  }

  void write(uint32_t first, size_t part) {
    const uint32_t number = first + static_cast<uint32_t>(part);
    // All ranks must have read the previous contents of the slot. Numbers before 0 count as read.
    for (int64_t r = 0; r < pages_.size(); ++r)
      if (r != pages_.rank()) pages_.wait_read(r, number - SharedPages::kSlots);
    std::memcpy(pages_.slot(pages_.rank(), number), bytes_ + part * SharedPages::kSlotBytes, bytes_in(part));
    pages_.set_written(number);
  }

  void read(uint32_t first, size_t part) {
    const uint32_t number = first + static_cast<uint32_t>(part);
    std::vector<const std::byte*> parts;
    for (int64_t r = 0; r < pages_.size(); ++r) {
      if (r != pages_.rank()) pages_.wait_written(r, number);
      parts.push_back(pages_.slot(r, number));
    }
    add_up(parts, static_cast<int64_t>(bytes_in(part)) / width_, dtype_, bytes_ + part * SharedPages::kSlotBytes);
    pages_.set_read(number);
  }

  SharedPages& pages_;
  uint32_t& next_;
  at::ScalarType dtype_;
  int64_t width_;
  std::byte* bytes_;
  size_t size_;
};

}  // namespace

std::unique_ptr<SharedMemorySum> SharedMemorySum::make(ProcessGroup& group, std::chrono::milliseconds timeout) {
  std::unique_ptr<SharedPages> pages = open_shared_pages(group, timeout);
  return pages ? std::unique_ptr<SharedMemorySum>(new SharedMemorySum(std::move(pages))) : nullptr;
}

SharedMemorySum::SharedMemorySum(std::unique_ptr<SharedPages> pages)
    : pages_(std::move(pages)), worker_([this] { work(); }) {}

SharedMemorySum::~SharedMemorySum() {
  pages_->abandon();
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  has_task_.notify_one();
  worker_.join();
}

bool SharedMemorySum::can_add(const at::Tensor& tensor) {
  const at::ScalarType dtype = tensor.scalar_type();
  return tensor.is_cpu() && tensor.layout() == at::kStrided &&
         (dtype == at::kFloat || dtype == at::kDouble || dtype == at::kHalf || dtype == at::kBFloat16);
}

c10::intrusive_ptr<c10::ivalue::Future> SharedMemorySum::start(const at::Tensor& tensor) {
  TENON_CHECK(can_add(tensor) && tensor.is_contiguous(), "a tensor of " << tensor.toString());
  auto done = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back({tensor, done});
  }
  has_task_.notify_one();
  return done;
}

// After an error the ranks are at different parts, so that no later sum is possible.
void SharedMemorySum::work() {
  std::exception_ptr failure;
  uint32_t next = 0;
  for (;;) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      has_task_.wait(lock, [this] { return is_ending_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    try {
      RECORD_FUNCTION("tenon::all_reduce", std::vector<c10::IValue>());  // shown in timelines
      if (!failure) SharedMemoryReduce(*pages_, next, task.tensor).run();
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure)
      task.done->setError(failure);
    else
      task.done->markCompleted(std::vector<at::Tensor>{task.tensor});
  }
}

}  // namespace tenon::distributed
