#include "framework/distributed/collectives/gradient_reducer.h"

#include <torch/types.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <unordered_map>
#include <utility>

#include "framework/distributed/collectives/shared_memory_sum.h"

namespace tenon::distributed {

namespace {

int64_t to_bytes(double mib) { return static_cast<int64_t>(mib * 1024 * 1024); }

// With more ranks, summing all contributions on every rank takes longer than a ring of sockets.
constexpr int64_t kMaxSharing = 8;

}  // namespace

// Sums a bucket over the ranks and keeps the futures of pending sums.
class GradientReducer::SumHook final : public c10d::CppCommHookInterface<ProcessGroup*> {
 public:
  SumHook(ProcessGroup* group, SharedMemorySum* shared, config::Compression compression)
      : CppCommHookInterface(group), shared_(shared), compression_(compression) {}

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    if (bucket.getIndex() == 0) futures_.clear();
    futures_.push_back(compression_ == config::Compression::none ? sum(bucket.getBufferRef())
                                                                 : sum_compressed(bucket.getBufferRef()));
    // After the last bucket, backward only waits.
    if (bucket.isLast()) state_->set_waiting(true);
    return futures_.back();
  }

  // Releases the sums of a backward. They share memory with the buckets, which are rebuilt after the first step.
  void release() { futures_.clear(); }

  // Returns the reason why a sum failed. The exception from backward may name an unrelated function.
  std::optional<std::string> failure() const {
    for (const auto& future : futures_)
      if (future->completed() && future->hasError()) return future->tryRetrieveErrorMessage();
    return std::nullopt;
  }

 private:
  c10::intrusive_ptr<c10::ivalue::Future> sum(const at::Tensor& buffer) {
    if (shared_) return shared_->start({buffer});
    std::vector<at::Tensor> tensors{buffer};
    return state_->c10d()->allreduce(tensors)->getFuture();
  }

  // Sends the mean, because the sum could overflow in fp16.
  c10::intrusive_ptr<c10::ivalue::Future> sum_compressed(at::Tensor& buffer) {
    const auto size = static_cast<double>(state_->size());
    auto reduced = sum(buffer.div(size).to(wire_type(compression_)));
    return reduced->then(
        [buffer, size](c10::ivalue::Future& done) {
          const at::NoGradGuard no_grad;
          at::Tensor(buffer).copy_(done.value().toTensorVector()[0]).mul_(size);
          return c10::IValue(std::vector<at::Tensor>{buffer});
        },
        reduced->elementType());
  }

  SharedMemorySum* shared_;
  config::Compression compression_;
  std::vector<c10::intrusive_ptr<c10::ivalue::Future>> futures_;  // futures of the buckets of this backward
};

GradientReducer::GradientReducer(ProcessGroup& group, const config::DistributedSection& plan,
                                 std::vector<std::string> names, std::vector<at::Tensor> parameters, Buckets buckets)
    : group_(group),
      names_(std::move(names)),
      parameters_(std::move(parameters)),
      finds_unused_(plan.find_unused_parameters && !plan.static_graph),
      records_graph_(plan.static_graph),
      shared_(group.size() <= kMaxSharing ? SharedMemorySum::make_for(parameters_, group, plan) : nullptr) {
  const int64_t cap = to_bytes(plan.bucket_mib);
  const int64_t first_cap = to_bytes(plan.first_bucket_mib);
  const std::vector<bool> expect_sparse(parameters_.size(), false);
  if (buckets.empty()) {
    // Starts with one bucket for all parameters, unless the buckets are final. After the first backward the buckets are
    // rebuilt in the order in which the gradients became ready.
    std::vector<size_t> limits{std::numeric_limits<size_t>::max()};
    if (finds_unused_) limits = {static_cast<size_t>(first_cap), static_cast<size_t>(cap)};
    buckets = std::get<0>(c10d::compute_bucket_assignment_by_size(parameters_, limits, expect_sparse));
    // Backward starts with the last parameters of forward.
    std::ranges::reverse(buckets);
  }
  std::unordered_map<size_t, std::string> names_by_index;
  for (size_t i = 0; i < names_.size(); ++i) names_by_index[i] = names_[i];
  reducer_ =
      std::make_shared<c10d::Reducer>(parameters_, std::move(buckets), group.c10d(), expect_sparse, cap, finds_unused_,
                                      /*gradient_as_bucket_view=*/true, std::move(names_by_index), first_cap,
                                      /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
                                      /*bucket_bytes_cap_list=*/std::vector<int64_t>{});
  auto hook = std::make_unique<SumHook>(&group, shared_.get(), plan.compression);
  hook_ = hook.get();
  reducer_->register_comm_hook(std::move(hook));
  if (plan.static_graph) reducer_->set_static_graph();
  logger_ = std::make_shared<c10d::Logger>(reducer_);
  reducer_->set_logger(logger_);
}

GradientReducer::~GradientReducer() = default;

void GradientReducer::prepare_forward() {
  rebuild_buckets();
  reducer_->prepare_for_forward();
}

// Runs a call of the reducer that waits for the other ranks.
template <class Call>
void GradientReducer::communicate(const Call& call) {
  try {
    call();
  } catch (const std::exception& error) {
    group_.rethrow_as_lost(error);
  }
}

// Synchronises the new buckets between the ranks after the first step. Later calls do nothing.
void GradientReducer::rebuild_buckets() {
  communicate([this] { reducer_->rebuild_buckets(); });
}

Reducer::Buckets GradientReducer::buckets() {
  rebuild_buckets();
  std::unordered_map<const c10::TensorImpl*, size_t> indices;
  for (size_t i = 0; i < parameters_.size(); ++i) indices[parameters_[i].unsafeGetTensorImpl()] = i;
  Buckets buckets;
  // By default c10d would return new zeros of the size of all gradients.
  for (const c10d::GradBucket& bucket : reducer_->get_grad_buckets(/*return_zero_tensors=*/false)) {
    std::vector<size_t>& members = buckets.emplace_back();
    for (const at::Tensor& parameter : bucket.getParameters())
      members.push_back(indices.at(parameter.unsafeGetTensorImpl()));
  }
  return buckets;
}

void GradientReducer::expect_backward(const at::Tensor& total) { reducer_->prepare_for_backward({total}); }

void GradientReducer::finish_backward(const std::exception* error) {
  group_.set_waiting(false);
  if (error) {
    if (const auto failure = hook_->failure()) group_.rethrow_as_lost(std::runtime_error(*failure));
    return;
  }
  if (std::exchange(records_graph_, false)) {
    // The number of gradients of each parameter is known only after the first backward.
    communicate([this] { reducer_->delay_all_reduce(); });
    group_.set_waiting(false);
  }
  try {
    reducer_->check_finalized();
  } catch (const c10::Error&) {
    std::string unused;
    for (size_t i = 0; i < parameters_.size(); ++i)
      if (!parameters_[i].grad().defined()) unused += (unused.empty() ? "" : ", ") + names_[i];
    refuse_unused(unused);
  }
  hook_->release();
}

// Runs backward on a separate graph with zero gradients, so that the reducer follows its usual path.
void GradientReducer::reduce_without_backward() {
  std::vector<at::Tensor> zeros;
  // With find_unused_parameters the graph has one parameter: parameters that no rank used must stay without a gradient.
  const size_t count = finds_unused_ ? 1 : parameters_.size();
  for (size_t i = 0; i < count; ++i) {
    const at::Tensor& parameter = parameters_[i];
    const at::Tensor element = parameter.numel() > 0 ? parameter.reshape({-1}).select(0, 0) : parameter.sum();
    zeros.push_back(element * 0);
  }
  const at::Tensor total = at::stack(zeros).sum();
  expect_backward(total);
  try {
    total.backward();
  } catch (const std::exception& error) {
    finish_backward(&error);
    throw;
  }
  finish_backward(nullptr);
}

}  // namespace tenon::distributed
