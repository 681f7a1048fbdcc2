#include "framework/distributed/collectives/owner_reducer.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/types.h>

#include <algorithm>
#include <map>
#include <utility>

#include "framework/distributed/collectives/shared_memory_sum.h"
#include "framework/support/diagnostics/check.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::distributed {

using support::Error;
using support::ErrorKind;

namespace {

// The buckets that are sent at the same time. More would keep more gradients in memory.
constexpr size_t kTransfers = 2;

// Backward starts with the last parameters of forward. The first bucket is small, so that sending starts early.
Reducer::Buckets make_buckets(const std::vector<at::Tensor>& parameters, const config::DistributedSection& plan) {
  constexpr double kMiB = 1024 * 1024;
  Reducer::Buckets buckets;
  double bytes = 0, limit = plan.first_bucket_mib * kMiB;
  for (size_t i = parameters.size(); i-- > 0;) {
    if (bytes == 0) buckets.emplace_back();
    buckets.back().push_back(i);
    bytes += static_cast<double>(std::max<size_t>(parameters[i].nbytes(), 1));
    if (bytes < limit) continue;
    bytes = 0;
    limit = plan.bucket_mib * kMiB;
  }
  return buckets;
}

}  // namespace

// Reports to the reducer that a gradient is ready.
class OwnerReducer::Hook final : public torch::autograd::PostAccumulateGradHook {
 public:
  Hook(OwnerReducer& reducer, size_t parameter) : reducer_(reducer), parameter_(parameter) {}
  void operator()(const torch::autograd::Variable&) override { reducer_.accept(parameter_); }

 private:
  OwnerReducer& reducer_;
  size_t parameter_;
};

class OwnerReducer::Transfer {
 public:
  // `gradients`: one for each parameter of the bucket. They may be overwritten.
  Transfer(OwnerReducer& reducer, const std::vector<size_t>& bucket, std::vector<at::Tensor> gradients)
      : reducer_(reducer), bucket_(bucket), gradients_(std::move(gradients)) {
    const at::NoGradGuard no_grad;
    for (const at::Tensor& gradient : gradients_) sent_.push_back(compress(gradient));
    // The gradients of the other ranks' parameters are not needed any more.
    if (reducer_.compression_ != config::Compression::none)
      for (size_t i = 0; i < bucket_.size(); ++i)
        if (!is_owned(i)) gradients_[i].reset();
    if (reducer_.shared_)
      start_shared();
    else
      start_messages();
  }

  // Waits until this rank has sent its gradients and has the sums of its parameters.
  void finish() {
    if (shared_) {
      shared_->wait();
      if (shared_->hasError()) reducer_.group_.rethrow_as_lost(std::runtime_error(shared_->tryRetrieveErrorMessage()));
    }
    const at::NoGradGuard no_grad;
    for (Message& message : messages_) finish(message);
    for (size_t i = 0; i < bucket_.size(); ++i)
      if (is_owned(i)) reducer_.add_to_earlier(bucket_[i], decompress(i));
  }

 private:
  // The gradients of one dtype.
  struct Message {
    std::vector<size_t> owned;  // members of the bucket that this rank owns
    at::Tensor received;        // [ranks, elements of the owned members]
    ProcessGroup::Pending pending;
  };

  int64_t owner(size_t member) const { return reducer_.owners_[bucket_[member]]; }
  bool is_owned(size_t member) const { return owner(member) == reducer_.group_.rank(); }

  // Sends the mean, because the sum could overflow in fp16.
  at::Tensor compress(const at::Tensor& gradient) const {
    if (reducer_.compression_ == config::Compression::none) return gradient;
    return gradient.div(static_cast<double>(reducer_.group_.size())).to(wire_type(reducer_.compression_));
  }

  at::Tensor decompress(size_t member) {
    if (reducer_.compression_ == config::Compression::none) return sent_[member];
    return gradients_[member].copy_(sent_[member]).mul_(static_cast<double>(reducer_.group_.size()));
  }

  void start_shared() {
    std::vector<int64_t> owners;
    for (size_t i = 0; i < bucket_.size(); ++i) owners.push_back(owner(i));
    shared_ = reducer_.shared_->start(sent_, std::move(owners));
  }

  // Each rank sends its gradients to their owners alone. A reduction on one rank would send up to twice as many bytes.
  void start_messages() {
    std::map<at::ScalarType, std::vector<size_t>> by_dtype;
    for (size_t i = 0; i < bucket_.size(); ++i) by_dtype[sent_[i].scalar_type()].push_back(i);
    const int64_t ranks = reducer_.group_.size();
    for (auto& [dtype, members] : by_dtype) {
      std::ranges::stable_sort(members, {}, [this](size_t member) { return owner(member); });
      std::vector<int64_t> elements(static_cast<size_t>(ranks), 0);  // of each owner
      std::vector<at::Tensor> flat;
      Message& message = messages_.emplace_back();
      for (const size_t member : members) {
        flat.push_back(sent_[member].reshape({-1}));
        elements[static_cast<size_t>(owner(member))] += sent_[member].numel();
        if (is_owned(member)) message.owned.push_back(member);
      }
      const at::Tensor packed = at::cat(flat);
      for (const size_t member : members)
        if (!is_owned(member)) sent_[member].reset();
      const int64_t owned = elements[static_cast<size_t>(reducer_.group_.rank())];
      message.received = at::empty({ranks, owned}, packed.options());
      message.pending = reducer_.group_.start_exchange(packed, std::move(elements), message.received.view({-1}),
                                                       std::vector<int64_t>(static_cast<size_t>(ranks), owned));
    }
  }

  // Adds in the order of the ranks.
  void finish(Message& message) {
    message.pending.wait();
    const at::Tensor sum = message.received[0];
    for (int64_t rank = 1; rank < reducer_.group_.size(); ++rank) sum.add_(message.received[rank]);
    int64_t place = 0;
    for (const size_t member : message.owned) {
      at::Tensor& gradient = sent_[member];
      gradient.copy_(sum.narrow(0, place, gradient.numel()).view(gradient.sizes()));
      place += gradient.numel();
    }
  }

  OwnerReducer& reducer_;
  const std::vector<size_t>& bucket_;
  std::vector<at::Tensor> gradients_;
  std::vector<at::Tensor> sent_;
  c10::intrusive_ptr<c10::ivalue::Future> shared_;  // null: sent as messages
  std::vector<Message> messages_;
};

OwnerReducer::OwnerReducer(ProcessGroup& group, const config::DistributedSection& plan, std::vector<std::string> names,
                           std::vector<at::Tensor> parameters, std::vector<int64_t> owners)
    : group_(group),
      compression_(plan.compression),
      finds_unused_(plan.find_unused_parameters),
      names_(std::move(names)),
      parameters_(std::move(parameters)),
      owners_(std::move(owners)),
      buckets_(make_buckets(parameters_, plan)),
      bucket_of_(parameters_.size()),
      shared_(SharedMemorySum::make_for(parameters_, group, plan)),
      earlier_(parameters_.size()),
      was_used_(parameters_.size(), false) {
  TENON_CHECK(owners_.size() == parameters_.size(), owners_.size()
                                                        << " owners, " << parameters_.size() << " parameters");
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket)
    for (const size_t parameter : buckets_[bucket]) bucket_of_[parameter] = bucket;
  for (size_t i = 0; i < parameters_.size(); ++i)
    torch::autograd::impl::set_post_acc_grad_hooks(parameters_[i], std::make_unique<Hook>(*this, i));
}

OwnerReducer::~OwnerReducer() {
  for (const at::Tensor& parameter : parameters_) torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
}

void OwnerReducer::begin() {
  is_reducing_ = true;
  is_ready_.assign(parameters_.size(), false);
  missing_.clear();
  for (const std::vector<size_t>& bucket : buckets_) missing_.push_back(bucket.size());
  next_ = 0;
  // The new gradients must not be added to sums over all ranks.
  for (size_t i = 0; i < parameters_.size(); ++i) std::swap(parameters_[i].mutable_grad(), earlier_[i]);
}

void OwnerReducer::expect_backward(const at::Tensor&) {
  ran_backward_ = true;
  begin();
}

void OwnerReducer::accept(size_t parameter) {
  if (!is_reducing_) return;
  if (is_ready_[parameter])
    throw Error(ErrorKind::configuration,
                "distributed.shard: backward computed the gradient of {} more than once in a step, but it is sent "
                "after the first time; expected shard = \"optimizer\" or \"none\" for this model",
                names_[parameter]);
  is_ready_[parameter] = true;
  was_used_[parameter] = true;
  --missing_[bucket_of_[parameter]];
  while (next_ < buckets_.size() && missing_[next_] == 0) send(buckets_[next_++]);
  // After the last bucket, backward only waits.
  if (next_ == buckets_.size()) group_.set_waiting(true);
}

// A parameter without a gradient contributes zeros.
void OwnerReducer::send(const std::vector<size_t>& bucket) {
  finish_transfers(kTransfers - 1);
  std::vector<at::Tensor> gradients;
  for (const size_t parameter : bucket) {
    at::Tensor& gradient = parameters_[parameter].mutable_grad();
    if (!gradient.defined()) {
      const at::NoGradGuard no_grad;
      gradient = at::zeros_like(parameters_[parameter]);
    }
    if (gradient.layout() != at::kStrided)
      throw Error(ErrorKind::plugin, names_[parameter] + " has a sparse gradient; expected a dense one");
    gradients.push_back(std::exchange(gradient, at::Tensor()));
  }
  transfers_.push_back(std::make_unique<Transfer>(*this, bucket, std::move(gradients)));
}

void OwnerReducer::finish_transfers(size_t remaining) {
  if (transfers_.size() <= remaining) return;
  group_.set_waiting(true);
  while (transfers_.size() > remaining) {
    transfers_.front()->finish();
    transfers_.erase(transfers_.begin());
  }
  group_.set_waiting(false);
}

void OwnerReducer::add_to_earlier(size_t parameter, const at::Tensor& sum) {
  at::Tensor& earlier = earlier_[parameter];
  if (earlier.defined())
    earlier.add_(sum);
  else
    earlier = sum;
}

void OwnerReducer::finish_backward(const std::exception* error) {
  group_.set_waiting(false);
  is_reducing_ = false;
  if (error) return;
  send_remaining();
}

void OwnerReducer::reduce_without_backward() {
  begin();
  is_reducing_ = false;
  send_remaining();
}

void OwnerReducer::send_remaining() {
  while (next_ < buckets_.size()) send(buckets_[next_++]);
  finish_transfers(0);
  for (size_t i = 0; i < parameters_.size(); ++i) parameters_[i].mutable_grad() = std::exchange(earlier_[i], {});
}

void OwnerReducer::finish_step(bool keeps_separate) {
  if (finds_unused_) {
    release_unused();
  } else if (!keeps_separate && ran_backward_) {
    std::string unused;
    for (size_t i = 0; i < parameters_.size(); ++i)
      if (!was_used_[i]) unused += (unused.empty() ? "" : ", ") + names_[i];
    if (!unused.empty()) refuse_unused(unused);
  }
  ran_backward_ = false;
  was_used_.assign(parameters_.size(), false);
}

void OwnerReducer::release_unused() {
  const at::Tensor used = at::zeros({static_cast<int64_t>(parameters_.size())}, at::kByte);
  std::ranges::copy(was_used_, used.mutable_data_ptr<uint8_t>());
  group_.reduce(Reduction::maximum, used);
  for (size_t i = 0; i < parameters_.size(); ++i)
    if (used.const_data_ptr<uint8_t>()[i] == 0) parameters_[i].mutable_grad().reset();
}

}  // namespace tenon::distributed
