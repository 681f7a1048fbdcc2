#include "host/checkpoint_writer.h"

#include <torch/types.h>

#include <chrono>
#include <utility>

#include "framework/pipeline/stored_tensors.h"
#include "framework/support/timeline.h"

namespace tenon::host {

CheckpointWriter::CheckpointWriter(std::filesystem::path folder, artifacts::Retention retention, bool asynchronous)
    : store_(std::move(folder), std::move(retention)), asynchronous_(asynchronous) {}

CheckpointWriter::~CheckpointWriter() {
  if (writing_.valid()) writing_.wait();
}

// A synchronous writer does not copy a contiguous tensor in host memory: no thread changes it during the write.
artifacts::TensorView CheckpointWriter::copy(const std::string& name, const at::Tensor& tensor, Tensors& copies) {
  const at::NoGradGuard no_grad;
  at::Tensor& kept = copies[name];
  if (!asynchronous_)
    kept = tensor.detach().cpu().contiguous();
  else if (kept.defined() && kept.sizes() == tensor.sizes() && kept.scalar_type() == tensor.scalar_type())
    kept.copy_(tensor.detach());
  else
    kept = at::empty(tensor.sizes(), tensor.options().device(c10::kCPU).requires_grad(false)).copy_(tensor.detach());
  return pipeline::view_of(name, kept);
}

void CheckpointWriter::save(artifacts::CheckpointContents contents, std::span<const plugins::NamedTensor> model,
                            const pipeline::SavedState& saved) {
  finish();
  model_views_.clear();
  training_views_.clear();
  for (const plugins::NamedTensor& named : model) model_views_.push_back(copy(named.name, named.tensor, model_));
  for (const auto& [name, tensor] : saved.tensors) training_views_.push_back(copy(name, tensor, training_));
  contents.model = model_views_;
  contents.training = training_views_;
  if (asynchronous_)
    writing_ = std::async(std::launch::async, [this, contents = std::move(contents)] {
      const support::TimelineScope scope("write checkpoint");
      return store_.write(contents);
    });
  else
    last_ = store_.write(contents);
}

void CheckpointWriter::check() {
  using namespace std::chrono_literals;
  if (writing_.valid() && writing_.wait_for(0s) == std::future_status::ready) last_ = writing_.get();
}

void CheckpointWriter::finish() {
  if (writing_.valid()) last_ = writing_.get();
}

}  // namespace tenon::host
