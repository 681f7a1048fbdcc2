#include "host/training/checkpoint_writer.h"

#include <torch/types.h>

#include <chrono>
#include <utility>

#include "framework/pipeline/state/saved_state.h"
#include "framework/support/diagnostics/timeline.h"

namespace tenon::host {

CheckpointWriter::CheckpointWriter(std::filesystem::path folder, artifacts::Retention retention, bool asynchronous,
                                   const std::filesystem::path& resumed_from)
    : store_(std::move(folder), std::move(retention), resumed_from),
      asynchronous_(asynchronous),
      model_(/*shares=*/!asynchronous),
      training_(/*shares=*/!asynchronous) {}

CheckpointWriter::~CheckpointWriter() {
  is_abandoned_ = true;
  if (writing_.valid()) writing_.wait();
}

void CheckpointWriter::save(artifacts::CheckpointContents contents, std::span<const components::NamedTensor> model,
                            const pipeline::SavedState& saved) {
  finish();
  model_views_.clear();
  training_views_.clear();
  for (const components::NamedTensor& named : model)
    model_views_.push_back(pipeline::make_view(named.name, model_.add(named.name, named.tensor)));
  for (const auto& [name, tensor] : saved.tensors)
    training_views_.push_back(pipeline::make_view(name, training_.add(name, tensor)));
  training_.submit();
  model_.submit();
  contents.parts.is_abandoned = &is_abandoned_;
  contents.model = model_views_;
  contents.training = training_views_;
  const auto write = [this](const artifacts::CheckpointContents& with_tensors) {
    training_.wait();
    model_.wait();
    return store_.write(with_tensors);
  };
  if (asynchronous_)
    writing_ = std::async(std::launch::async, [write, contents = std::move(contents)] {
      const support::TimelineScope scope("write checkpoint");
      return write(contents);
    });
  else
    last_ = write(contents);
  if (!asynchronous_) release();
}

void CheckpointWriter::check() {
  using namespace std::chrono_literals;
  if (writing_.valid() && writing_.wait_for(0s) == std::future_status::ready) finish();
}

void CheckpointWriter::finish() {
  if (!writing_.valid()) return;
  last_ = writing_.get();
  release();
}

void CheckpointWriter::release() {
  training_.release();
  model_.release();
}

void CheckpointWriter::finish_failed() {
  // A rank that can write its part does so before it ends, unless its disk is very slow.
  constexpr auto kLongest = std::chrono::seconds(3);
  if (writing_.valid() && writing_.wait_for(kLongest) != std::future_status::ready) is_abandoned_ = true;
  finish();
}

}  // namespace tenon::host
