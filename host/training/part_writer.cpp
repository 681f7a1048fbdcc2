#include "host/training/part_writer.h"

#include <torch/types.h>

#include <chrono>
#include <utility>

#include "framework/artifacts/checkpoint/training_parts.h"
#include "framework/pipeline/loop/training_state.h"
#include "framework/pipeline/state/stored_tensors.h"
#include "framework/support/error.h"
#include "framework/support/files.h"
#include "framework/support/timeline.h"

namespace tenon::host {

PartWriter::PartWriter(std::filesystem::path checkpoints, int64_t rank, bool asynchronous)
    : checkpoints_(std::move(checkpoints)), rank_(rank), asynchronous_(asynchronous), tensors_(!asynchronous) {
  if (support::is_folder(checkpoints_)) return;
  throw support::Error(support::ErrorKind::configuration,
                       "distributed.shard: every process writes its part of a checkpoint to " + checkpoints_.string() +
                           ", but rank " + std::to_string(rank) +
                           " cannot find this folder; expected run.output_dir on a file system that all machines "
                           "share, or shard = \"none\"");
}

PartWriter::~PartWriter() {
  if (writing_.valid()) writing_.wait();
}

void PartWriter::save(int64_t step, const pipeline::SavedState& saved) {
  finish();
  views_.clear();
  for (const optimization::NamedTensor& one : saved.tensors_under(pipeline::kOptimizerPrefix)) {
    const std::string name = pipeline::kOptimizerPrefix + one.name;
    views_.push_back(pipeline::view_of(name, tensors_.add(name, one.tensor)));
  }
  tensors_.submit();
  const auto write = [this, part = artifacts::TrainingPart{step, saves_++, rank_}] {
    const support::TimelineScope scope("write checkpoint");
    tensors_.wait();
    artifacts::write_training_part(checkpoints_, part, views_);
  };
  if (asynchronous_)
    writing_ = std::async(std::launch::async, write);
  else
    write();
}

void PartWriter::check() {
  using namespace std::chrono_literals;
  if (writing_.valid() && writing_.wait_for(0s) == std::future_status::ready) writing_.get();
}

void PartWriter::finish() {
  if (writing_.valid()) writing_.get();
}

}  // namespace tenon::host
