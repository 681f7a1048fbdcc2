#include "framework/distributed/collectives/owned_tensors.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>

#include <ATen/record_function.h>
#include <torch/types.h>

#include "framework/distributed/collectives/shared_memory_sum.h"
#include "framework/support/diagnostics/check.h"

namespace tenon::distributed {
namespace {

// The bytes of the tensors of one rank, one after another.
class Row {
 public:
  void add(const at::Tensor& tensor) {
    pieces_.emplace_back(static_cast<std::byte*>(tensor.mutable_data_ptr()), tensor.nbytes());
    bytes_ += tensor.nbytes();
  }

  size_t bytes() const { return bytes_; }

  // Calls copy(pointer, size) for the next `count` bytes, or for the remaining ones.
  template <class Copy>
  void next(size_t count, Copy&& copy) {
    while (count > 0 && piece_ < pieces_.size()) {
      const std::span<std::byte> rest = pieces_[piece_].subspan(offset_);
      const size_t size = std::min(count, rest.size());
      if (size > 0) copy(rest.data(), size);
      count -= size;
      offset_ += size;
      if (offset_ < pieces_[piece_].size()) continue;
      ++piece_;
      offset_ = 0;
    }
  }

 private:
  std::vector<std::span<std::byte>> pieces_;
  size_t bytes_ = 0;
  size_t piece_ = 0, offset_ = 0;  // the position of next()
};

// Sends the rows of all ranks, in parts.
void gather_rows(SharedPages& pages, uint32_t& next, std::vector<Row>& rows) {
  size_t most = 0;
  for (const Row& row : rows) most = std::max(most, row.bytes());
  const auto write = [&](uint32_t number, size_t) {
    std::byte* to = pages.slot(pages.rank(), number);
    rows[static_cast<size_t>(pages.rank())].next(SharedPages::kSlotBytes, [&to](std::byte* piece, size_t size) {
      std::memcpy(to, piece, size);
      to += size;
    });
  };
  const auto read = [&](uint32_t number, size_t) {
    for (int64_t r = 0; r < pages.size(); ++r) {
      if (r == pages.rank()) continue;
      pages.wait_written(r, number);
      const std::byte* from = pages.slot(r, number);
      rows[static_cast<size_t>(r)].next(SharedPages::kSlotBytes, [&from](std::byte* piece, size_t size) {
        std::memcpy(piece, from, size);
        from += size;
      });
    }
  };
  pages.send_in_parts(most, next, write, read);
}

bool can_copy_bytes(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.layout() == at::kStrided && tensor.is_non_overlapping_and_dense();
}

}  // namespace

OwnedTensors::OwnedTensors(ProcessGroup& group, const config::DistributedSection& plan)
    : group_(group),
      message_bytes_(static_cast<size_t>(plan.bucket_mib * 1024 * 1024)),
      pages_(open_shared_pages(group, plan)) {}

OwnedTensors::~OwnedTensors() = default;

void OwnedTensors::Pending::wait() {
  for (ProcessGroup::Pending& message : messages_) message.wait();
  messages_.clear();
}

void OwnedTensors::gather(const std::vector<at::Tensor>& tensors, const std::vector<int64_t>& owners) {
  TENON_CHECK(tensors.size() == owners.size(), tensors.size() << " tensors, " << owners.size() << " owners");
  RECORD_FUNCTION("tenon::all_gather", std::vector<c10::IValue>());  // shown in timelines
  if (pages_ && std::ranges::all_of(tensors, can_copy_bytes))
    gather_shared(tensors, owners);
  else
    broadcast(tensors, owners);
}

OwnedTensors::Pending OwnedTensors::start_gather(const std::vector<at::Tensor>& tensors,
                                                 const std::vector<int64_t>& owners) {
  TENON_CHECK(can_overlap(), "shared memory");
  RECORD_FUNCTION("tenon::start_all_gather", std::vector<c10::IValue>());
  Pending pending;
  for_each_message(tensors, owners, [&](const std::vector<at::Tensor>& message, int64_t owner) {
    pending.messages_.push_back(group_.start_broadcast(message, owner));
  });
  return pending;
}

void OwnedTensors::gather_shared(const std::vector<at::Tensor>& tensors, const std::vector<int64_t>& owners) {
  std::vector<Row> rows(static_cast<size_t>(group_.size()));
  for (size_t i = 0; i < tensors.size(); ++i) rows[static_cast<size_t>(owners[i])].add(tensors[i]);
  group_.wait_for_all([&] { gather_rows(*pages_, next_, rows); });
}

// Two messages are under way at a time, which limits the memory of the packed tensors.
void OwnedTensors::broadcast(const std::vector<at::Tensor>& tensors, const std::vector<int64_t>& owners) {
  ProcessGroup::Pending previous;
  for_each_message(tensors, owners, [&](const std::vector<at::Tensor>& message, int64_t owner) {
    ProcessGroup::Pending pending = group_.start_broadcast(message, owner);
    previous.wait();
    previous = std::move(pending);
  });
  previous.wait();
}

void OwnedTensors::for_each_message(
    const std::vector<at::Tensor>& tensors, const std::vector<int64_t>& owners,
    const std::function<void(const std::vector<at::Tensor>& message, int64_t owner)>& send) const {
  for (int64_t owner = 0; owner < group_.size(); ++owner) {
    std::vector<at::Tensor> message;
    size_t bytes = 0;
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (owners[i] != owner) continue;
      message.push_back(tensors[i]);
      bytes += tensors[i].nbytes();
      if (bytes < message_bytes_) continue;
      send(message, owner);
      message.clear();
      bytes = 0;
    }
    if (!message.empty()) send(message, owner);
  }
}

std::vector<int64_t> assign_owners(const std::vector<int64_t>& bytes, int64_t ranks) {
  TENON_CHECK(ranks >= 1, ranks << " ranks");
  std::vector<size_t> order(bytes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return bytes[i]; });
  std::vector<int64_t> loads(static_cast<size_t>(ranks), 0), owners(bytes.size(), 0);
  for (const size_t i : order) {
    const auto least = std::ranges::min_element(loads);  // the lowest rank among equals
    owners[i] = least - loads.begin();
    *least += bytes[i];
  }
  return owners;
}

}  // namespace tenon::distributed
