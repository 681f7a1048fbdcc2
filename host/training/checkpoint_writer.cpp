#include "host/training/checkpoint_writer.h"

#include <torch/types.h>

#include <chrono>
#include <utility>

#include "framework/artifacts/checkpoint/model_files.h"
#include "framework/pipeline/loop/checkpointed_run.h"
#include "framework/pipeline/state/saved_state.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/timeline.h"
#include "framework/support/files/files.h"

namespace tenon::host {

CheckpointWriter::CheckpointWriter(std::filesystem::path folder, artifacts::Retention retention, bool asynchronous,
                                   const std::filesystem::path& resumed_from)
    : store_(std::move(folder), std::move(retention), resumed_from),
      asynchronous_(asynchronous),
      model_copies_(/*shares=*/!asynchronous),
      training_copies_(/*shares=*/!asynchronous) {}

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
    model_views_.push_back(pipeline::make_view(named.name, model_copies_.add(named.name, named.tensor)));
  for (const auto& [name, tensor] : saved.tensors)
    training_views_.push_back(pipeline::make_view(name, training_copies_.add(name, tensor)));
  training_copies_.submit();
  model_copies_.submit();
  contents.parts.is_abandoned = &is_abandoned_;
  contents.model = model_views_;
  contents.training = training_views_;
  const auto write = [this](const artifacts::CheckpointContents& with_tensors) {
    training_copies_.wait();
    model_copies_.wait();
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
  training_copies_.release();
  model_copies_.release();
}

void CheckpointWriter::finish_failed() {
  // A rank that can write its part does so before it ends, unless its disk is very slow.
  constexpr auto kLongest = std::chrono::seconds(3);
  if (writing_.valid() && writing_.wait_for(kLongest) != std::future_status::ready) is_abandoned_ = true;
  finish();
}

PartWriter::PartWriter(std::filesystem::path checkpoints, int64_t rank, int64_t ranks, bool has_model,
                       bool asynchronous)
    : checkpoints_(std::move(checkpoints)),
      rank_(rank),
      ranks_(ranks),
      has_model_(has_model),
      asynchronous_(asynchronous),
      training_copies_(/*shares=*/!asynchronous),
      model_copies_(/*shares=*/!asynchronous) {
  if (support::is_folder(checkpoints_)) return;
  throw support::Error(
      support::ErrorKind::configuration,
      "distributed.shard: every process writes its part of a checkpoint to {}, but rank {} cannot find this folder; "
      "expected run.output_dir on a file system that all machines share, or shard = \"none\"",
      checkpoints_.string(), rank);
}

PartWriter::~PartWriter() {
  if (writing_.valid()) writing_.wait();
}

void PartWriter::save(int64_t step, std::span<const components::NamedTensor> model, const pipeline::SavedState& saved) {
  finish();
  training_views_.clear();
  model_views_.clear();
  const auto add_training = [&](const std::string& prefix) {
    for (const optimization::NamedTensor& one : saved.tensors_under(prefix)) {
      const std::string name = prefix + one.name;
      training_views_.push_back(pipeline::make_view(name, training_copies_.add(name, one.tensor)));
    }
  };
  add_training(pipeline::kOptimizerPrefix);
  if (has_model_) add_training(pipeline::kWeightsPrefix);
  if (has_model_)
    for (const components::NamedTensor& named : model)
      model_views_.push_back(pipeline::make_view(named.name, model_copies_.add(named.name, named.tensor)));
  training_copies_.submit();
  model_copies_.submit();
  const auto write = [this, step, number = saves_++] {
    const support::TimelineScope scope("write checkpoint");
    training_copies_.wait();
    model_copies_.wait();
    const auto write_part = [&](const std::string& name, const std::vector<artifacts::TensorView>& views) {
      artifacts::write_checkpoint_part(checkpoints_, {step, number, rank_, name}, views);
    };
    if (has_model_) write_part(artifacts::name_model_part(rank_, ranks_), model_views_);
    write_part(artifacts::name_training_part(rank_), training_views_);
  };
  if (asynchronous_)
    writing_ = std::async(std::launch::async, write);
  else
    write();
}

void PartWriter::check() {
  using namespace std::chrono_literals;
  if (writing_.valid() && writing_.wait_for(0s) == std::future_status::ready) finish();
}

void PartWriter::finish() {
  if (!writing_.valid()) return;
  writing_.get();
  training_copies_.release();
  model_copies_.release();
}

}  // namespace tenon::host
