// The processes of a run and their communication: c10d's process groups with errors that name the failed rank.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/config/plan/run_plan.h"
#include "framework/distributed/launch/world.h"
#include "framework/support/diagnostics/error.h"

namespace c10d {
class Backend;
class ProcessGroup;
class Store;
}  // namespace c10d

namespace tenon::distributed {

// The operation that combines the tensors of all ranks.
enum class Reduction { sum, maximum, minimum };

// All ranks must call every collective in the same order. A collective that cannot be completed throws Error(rank_lost)
// with the first cause: the message of the failed rank, or the activity of the missing rank. In a single
// process every collective returns immediately and leaves the tensors as they are.
class ProcessGroup {
 public:
  // A single process, without communication. single() lives as long as the process.
  ProcessGroup();
  static ProcessGroup& single();

  // Creates a process group for the rank's device: NCCL from the CUDA module.
  using MakeBackend = std::function<c10::intrusive_ptr<c10d::Backend>(
      const c10::intrusive_ptr<c10d::Store>& store, int rank, int size, std::chrono::milliseconds timeout)>;

  // Describes a call of a plugin that has lasted longer than the time, which is a failure of this rank, or returns an
  // empty text. The training thread is left out if it has waited for other ranks meanwhile.
  using FindOverdueCall =
      std::function<std::string(std::chrono::milliseconds longer_than, bool includes_training_thread)>;

  // Connects to the other ranks, if there are any. CPU tensors are sent by gloo, CUDA tensors by the backend of
  // `make_nccl`, or by gloo if it is empty. `describe_activity`: describes the training thread for other ranks that
  // wait for it. It is called on another thread, like `find_overdue_call`. Throws Error(configuration) as
  // connect_store() does.
  ProcessGroup(const World& world, const config::DistributedSection& plan,
               std::function<std::string()> describe_activity, const MakeBackend& make_nccl = {},
               FindOverdueCall find_overdue_call = {});
  // After a failure the destructor does not wait, and c10d's objects live until the process ends.
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  const World& world() const { return world_; }
  int64_t rank() const { return world_.rank; }
  int64_t size() const { return world_.size; }
  // Whether nothing is communicated. False for a connected group of one rank, such as a test of NCCL.
  bool is_single() const { return parts_ == nullptr; }

  // A pending collective. It completes even if it is destroyed without wait().
  class Pending {
   public:
    Pending() = default;
    void wait();  // blocks until the tensor holds the result

   private:
    friend class ProcessGroup;
    explicit Pending(std::function<void()> wait) : wait_(std::move(wait)) {}
    std::function<void()> wait_;  // also owns the tensor; empty: nothing is pending
  };

  // Reduce the tensor over all ranks, in place.
  Pending start_reduce(Reduction reduction, at::Tensor tensor);
  void reduce(Reduction reduction, at::Tensor tensor);
  // Sends a part of `input` to each rank, in the order of the ranks. wait() returns when `output` has the parts that
  // the ranks have sent to this one, in their order. Both tensors are contiguous. `sent` and `received`: the number of
  // elements of each part.
  Pending start_exchange(at::Tensor input, std::vector<int64_t> sent, at::Tensor output, std::vector<int64_t> received);
  // Sends the current values of one rank in one message. wait() copies them into the tensors of the other ranks.
  Pending start_broadcast(const std::vector<at::Tensor>& tensors, int64_t from = 0);
  // Concatenates [n_r, ...] of each rank r to [sum of n_r, ...], in the order of the ranks.
  at::Tensor concatenate(const at::Tensor& rows);

  // Returns the text of rank 0 on all ranks.
  std::string broadcast_string(const std::string& name, const std::string& text);
  // Returns the bytes of all ranks on rank 0, and nothing on the others. Use it only for small data: it is sent through
  // the store of rank 0.
  std::vector<std::string> gather(const std::string& name, const std::string& bytes);
  // Throws Error(configuration) on all ranks if a text differs from that of rank 0. The message has the first
  // difference. `what`: "the configuration".
  void require_equal(const std::string& what, const std::string& text);
  // Returns, on all ranks, the index of the first tensor that is not bitwise equal on all ranks, or nothing.
  std::optional<size_t> find_unequal(const std::vector<at::Tensor>& tensors);

  // Return after all ranks have called it. barrier() throws if a rank comes more than timeout_s after the first one.
  void barrier();
  void barrier_without_limit();

  // Polls until is_done() returns true. Use it to wait for a device: a collective of NCCL occupies the device until all
  // ranks have called it, which never happens if one is lost. Throws Error(rank_lost) if a rank fails or timeout_s
  // pass, and what is_done() throws.
  void wait_until(const std::function<bool()>& is_done);
  // As wait_until(), for all work that was submitted to the device before the call. Call it before values that depend
  // on a collective are read. Returns immediately for a CPU and for a single process.
  void wait_for_device(const c10::Device& device);

  // Rank 0 runs `work` while the others wait for it without a time limit. Use it for work of the host that calls no
  // plugin functions, such as writing files. timeout_s limits only how long rank 0 may take to reach this call. Throws
  // what `work` throws.
  void rank0_first(const std::function<void()>& work);

  // One rank of each machine runs `work` while all others wait without a time limit. `work` may call plugin functions
  // that take long. Throws what `work` throws.
  void first_on_machine(const std::function<void()>& work);

  // Reports to the other ranks that this rank has failed. No collective may follow. Returns whether the message is new:
  // false if another rank reported the same one first.
  bool report_failure(const std::string& message) noexcept;

  // The error of the first failed collective. It is kept because a collective inside a plugin function only results in
  // a failure of that function.
  const std::optional<support::Error>& lost() const { return lost_; }

  // Marks a wait for other ranks outside of these functions.
  void set_waiting(bool waiting);
  // Rethrows the exception of a collective as Error(rank_lost) with the first cause.
  [[noreturn]] void rethrow_as_lost(const std::exception& error);
  // Runs `body`, which waits for other ranks, as such a wait, and rethrows its exceptions as rethrow_as_lost().
  void wait_for_all(const std::function<void()>& body);

  c10::intrusive_ptr<c10d::ProcessGroup> c10d() const;

 private:
  struct Parts;
  [[noreturn]] void refuse_as_lost(const std::string& what);
  void wait_for_key(const std::string& key);

  World world_;
  double timeout_s_ = 0;
  int64_t turns_ = 0;             // calls of rank0_first()
  int64_t gathers_ = 0;           // calls of gather()
  int64_t broadcasts_ = 0;        // calls of broadcast_string()
  std::unique_ptr<Parts> parts_;  // null: a single process
  bool has_failed_ = false;
  std::optional<support::Error> lost_;
};

}  // namespace tenon::distributed
