#include "framework/distributed/collectives/shared_memory_sum.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include <ATen/record_function.h>
#include <torch/types.h>

#include "framework/support/diagnostics/check.h"

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

// Sends tensors in parts.
class SharedMemoryReduce {
 public:
  // As SharedMemorySum::start().
  SharedMemoryReduce(SharedPages& pages, uint32_t& next, const std::vector<at::Tensor>& tensors,
                     const std::vector<int64_t>& owners)
      : pages_(pages), next_(next) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const at::Tensor& tensor = tensors[i];
      pieces_.push_back({static_cast<std::byte*>(tensor.mutable_data_ptr()), tensor.nbytes(), size_,
                         tensor.scalar_type(), owners.empty() || owners[i] == pages.rank()});
      size_ += (tensor.nbytes() + kAlignment - 1) / kAlignment * kAlignment;
    }
  }

  void run() {
    pages_.send_in_parts(
        size_, next_, [&](uint32_t number, size_t part) { write(number, part); },
        [&](uint32_t number, size_t part) { read(number, part); });
  }

 private:
  // Tensors start at multiples of it, so that no element is split between two parts.
  static constexpr size_t kAlignment = 64;
  static_assert(SharedPages::kSlotBytes % kAlignment == 0);

  struct Piece {
    std::byte* bytes;
    size_t size;
    size_t start;  // in the sequence of all pieces
    at::ScalarType dtype;
    bool is_summed;  // by this rank
  };

  // Calls use(piece, offset in the piece, offset in the slot, size) for all pieces in a part.
  template <class Use>
  void visit(size_t part, Use&& use) const {
    const size_t begin = part * SharedPages::kSlotBytes, end = begin + SharedPages::kSlotBytes;
    for (const Piece& piece : pieces_) {
      const size_t from = std::max(begin, piece.start), to = std::min(end, piece.start + piece.size);
      if (from < to) use(piece, from - piece.start, from - begin, to - from);
    }
  }

  void write(uint32_t number, size_t part) {
    std::byte* const slot = pages_.slot(pages_.rank(), number);
    visit(part, [slot](const Piece& piece, size_t offset, size_t place, size_t size) {
      std::memcpy(slot + place, piece.bytes + offset, size);
    });
  }

  void read(uint32_t number, size_t part) {
    for (int64_t r = 0; r < pages_.size(); ++r)
      if (r != pages_.rank()) pages_.wait_written(r, number);
    visit(part, [&](const Piece& piece, size_t offset, size_t place, size_t size) {
      if (!piece.is_summed) return;
      std::vector<const std::byte*> parts;
      for (int64_t r = 0; r < pages_.size(); ++r) parts.push_back(pages_.slot(r, number) + place);
      const auto count = static_cast<int64_t>(size / c10::elementSize(piece.dtype));
      add_up(parts, count, piece.dtype, piece.bytes + offset);
    });
  }

  SharedPages& pages_;
  uint32_t& next_;
  std::vector<Piece> pieces_;
  size_t size_ = 0;
};

template <class Open>
std::unique_ptr<SharedPages> try_to(const Open& open) {
  try {
    return open();
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace

std::unique_ptr<SharedMemorySum> SharedMemorySum::make(ProcessGroup& group, std::chrono::milliseconds timeout) {
  std::unique_ptr<SharedPages> pages = open_shared_pages(group, timeout);
  return pages ? std::unique_ptr<SharedMemorySum>(new SharedMemorySum(std::move(pages))) : nullptr;
}

std::unique_ptr<SharedMemorySum> SharedMemorySum::make_for(const std::vector<at::Tensor>& tensors, ProcessGroup& group,
                                                           const config::DistributedSection& plan) {
  std::unique_ptr<SharedPages> pages = std::ranges::all_of(tensors, can_add) ? open_shared_pages(group, plan) : nullptr;
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

c10::intrusive_ptr<c10::ivalue::Future> SharedMemorySum::start(std::vector<at::Tensor> tensors,
                                                               std::vector<int64_t> owners) {
  TENON_CHECK(owners.empty() || owners.size() == tensors.size(), tensors.size()
                                                                     << " tensors, " << owners.size() << " owners");
  for (const at::Tensor& tensor : tensors)
    TENON_CHECK(can_add(tensor) && tensor.is_non_overlapping_and_dense(), "a tensor of " << tensor.toString());
  auto done = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back({std::move(tensors), std::move(owners), done});
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
      if (!failure) SharedMemoryReduce(*pages_, next, task.tensors, task.owners).run();
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure)
      task.done->setError(failure);
    else
      task.done->markCompleted(std::move(task.tensors));
  }
}

std::unique_ptr<SharedPages> open_shared_pages(ProcessGroup& group, std::chrono::milliseconds timeout) {
  std::unique_ptr<SharedPages> pages;
  if (group.rank() == 0) pages = try_to([&] { return std::make_unique<SharedPages>(group.size(), timeout); });
  const std::string name = group.broadcast_string("shared memory", pages ? pages->name() : "");
  if (group.rank() > 0 && !name.empty())
    pages = try_to([&] { return std::make_unique<SharedPages>(name, group.rank(), group.size(), timeout); });
  const at::Tensor have = at::full({1}, pages ? 1 : 0, at::kLong);
  group.reduce(Reduction::minimum, have);
  return have.item<int64_t>() == 0 ? nullptr : std::move(pages);
}

std::unique_ptr<SharedPages> open_shared_pages(ProcessGroup& group, const config::DistributedSection& plan) {
  const bool is_possible = plan.backend == config::Backend::automatic && group.world().is_one_machine();
  return is_possible ? open_shared_pages(group, std::chrono::milliseconds(static_cast<int64_t>(plan.timeout_s * 1000)))
                     : nullptr;
}

}  // namespace tenon::distributed
