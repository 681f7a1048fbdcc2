// The processes of a run, and what they send each other: c10d's process groups, with errors that say which rank failed.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/config/run_plan.h"
#include "framework/distributed/world.h"
#include "framework/support/error.h"

namespace c10d {
class Backend;
class ProcessGroup;
class Store;
}  // namespace c10d

namespace tenon::distributed {

// How the tensors of all ranks become one.
enum class Reduction { sum, maximum, minimum };

// Every collective is called by all ranks, in the same order. Where one cannot be completed it throws Error(rank_lost)
// with the first cause: what the rank that failed has told, or what the one that does not come is doing.
class ProcessGroup {
 public:
  // A process group of the rank's device, which the room that knows the device makes: of NCCL.
  using MakeBackend = std::function<c10::intrusive_ptr<c10d::Backend>(
      const c10::intrusive_ptr<c10d::Store>& store, int rank, int size, std::chrono::milliseconds timeout)>;

  // Meets the other ranks. Tensors in the host's memory travel by gloo, those of a CUDA device by what `make_nccl`
  // makes, or by gloo too where it is empty. `describe_activity`: what the training thread is doing, for the others to
  // read when it does not come; called on another thread. Throws Error(configuration) as connect_store().
  ProcessGroup(const World& world, const config::DistributedSection& plan,
               std::function<std::string()> describe_activity, const MakeBackend& make_nccl = {});
  // After a failure nothing is waited for, and what c10d holds is left to the process's end.
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  const World& world() const { return world_; }
  int64_t rank() const { return world_.rank; }
  int64_t size() const { return world_.size; }

  // A collective under way. Destroyed without wait() it still takes its tensor from the others.
  class Pending {
   public:
    Pending() = default;
    void wait();  // until the tensor holds the result

   private:
    friend class ProcessGroup;
    explicit Pending(std::function<void()> wait) : wait_(std::move(wait)) {}
    std::function<void()> wait_;  // holds the tensor too; empty: there is nothing to wait for
  };

  // In place.
  Pending start_reduce(Reduction reduction, at::Tensor tensor);
  void reduce(Reduction reduction, at::Tensor tensor);
  // Rank 0's values as they are now, in one message: wait() puts them into the tensors of the others.
  Pending start_broadcast(const std::vector<at::Tensor>& tensors);
  // [n_r, ...] of each rank r become [sum of n_r, ...], rank 0's first.
  at::Tensor concatenate(const at::Tensor& rows);

  // Rank 0's text, for all.
  std::string share(const std::string& name, const std::string& text);
  // Of each rank its bytes, on rank 0; nothing on the others. For little: they go through rank 0's store.
  std::vector<std::string> gather(const std::string& name, const std::string& bytes);
  // Throws Error(configuration), on all ranks, where a rank's text is not rank 0's, with the first line that differs.
  // `what`: "the configuration".
  void require_equal(const std::string& what, const std::string& text);
  // The index of the first tensor whose bits are not the same on all ranks, told to all; nothing if there is none.
  std::optional<size_t> find_unequal(const std::vector<at::Tensor>& tensors);

  // Returns when all ranks have come here.
  void meet();

  // Rank 0 does `work` and the others wait until it is done: for what the host does for all, and no plugin's function
  // is part of, such as writing files, which takes as long as the disk takes. timeout_s is how long rank 0 may take to
  // come here. Throws what `work` throws.
  void let_first_work(const std::function<void()>& work);

  // This rank ends for a reason of its own: the others are told. No collective may follow.
  void tell_failure(const std::string& message) noexcept;

  // What ended the first collective that could not be completed: also where it was called within a plugin's function,
  // and what arrived from there is only a failure of that.
  const std::optional<support::Error>& lost() const { return lost_; }

  // Around a wait for the other ranks that is not one of these functions.
  void set_waiting(bool waiting);
  // What a collective threw, as Error(rank_lost) with the first cause.
  [[noreturn]] void rethrow_as_lost(const std::exception& error);

  c10::intrusive_ptr<c10d::ProcessGroup> c10d() const;

 private:
  struct Parts;
  [[noreturn]] void refuse_as_lost(const std::string& what);
  template <class Body>
  void wait_for_all(Body&& body);

  World world_;
  double timeout_s_;
  int64_t turns_ = 0;    // of let_first_work()
  int64_t gathers_ = 0;  // of gather()
  std::unique_ptr<Parts> parts_;
  bool has_failed_ = false;
  std::optional<support::Error> lost_;
};

}  // namespace tenon::distributed
