#include "framework/pipeline/state/stage_times.h"

#include <algorithm>
#include <cstdio>

#include "framework/support/text/format.h"

namespace tenon::pipeline {

namespace {

// Smaller shares get no advice.
constexpr double kMuch = 0.25;

const std::string kCallback = "callback ";

constexpr const char* kStep = "train/step_s";
constexpr const char* kDataWait = "train/data_wait_s";
constexpr const char* kForwardBackward = "train/forward_backward_s";
constexpr const char* kOptimizer = "train/optimizer_s";

double share_of(const std::vector<StageSeconds>& stages, const std::string& name) {
  double sum = 0;
  double part = 0;
  for (const StageSeconds& stage : stages) {
    sum += stage.seconds;
    if (stage.name == name) part += stage.seconds;
  }
  return sum > 0 ? part / sum : 0;
}

std::string percent(double share) {
  char text[16];
  std::snprintf(text, sizeof text, "%.0f %%", 100 * share);
  return text;
}

}  // namespace

StageTimes::StageTimes() {
  for (const char* name : {"other", "data", "transfer", "forward", "losses", "backward", "processes", "optimizer",
                           "device", "validation", "checkpoint", "history", "test"})
    add(name);
}

Stage StageTimes::add(const std::string& name) {
  stages_.push_back({name});
  return static_cast<Stage>(stages_.size() - 1);
}

double StageTimes::seconds(Stage stage) const {
  return std::chrono::duration<double>(stages_[static_cast<size_t>(stage)].time).count();
}

double StageTimes::total() {
  enter(current_);
  Clock::duration sum{};
  for (const Entry& stage : stages_) sum += stage.time;
  return std::chrono::duration<double>(sum).count();
}

std::vector<StageSeconds> StageTimes::list() {
  enter(current_);
  std::vector<StageSeconds> list;
  for (const Entry& stage : stages_) {
    if (stage.time.count() == 0) continue;
    auto known = std::ranges::find(list, stage.name, &StageSeconds::name);
    if (known == list.end()) known = list.insert(list.end(), {stage.name, 0});
    known->seconds += std::chrono::duration<double>(stage.time).count();
  }
  return list;
}

StepTimes::Seconds StepTimes::sum_up() {
  const double total = times_.total();
  double forward_backward = 0;
  for (const Stage stage : {Stage::transfer, Stage::forward, Stage::losses, Stage::backward})
    forward_backward += times_.seconds(stage);
  return {total, times_.seconds(Stage::data), forward_backward, times_.seconds(Stage::optimizer)};
}

void StepTimes::restart(int64_t step) {
  first_step_ = step;
  paused_s_ = 0;
  before_ = sum_up();
}

StepTimes::Values StepTimes::read(int64_t step) {
  if (step <= first_step_) return {};
  const auto steps = static_cast<double>(step - first_step_);
  const Seconds now = sum_up();
  return {{kStep, (now.total - before_.total - paused_s_) / steps},
          {kDataWait, (now.data - before_.data) / steps},
          {kForwardBackward, (now.forward_backward - before_.forward_backward) / steps},
          {kOptimizer, (now.optimizer - before_.optimizer) / steps}};
}

bool is_step_time(std::string_view metric) {
  return metric == kStep || metric == kDataWait || metric == kForwardBackward || metric == kOptimizer;
}

std::string advise(const std::vector<StageSeconds>& stages, int64_t workers) {
  if (const double share = share_of(stages, "data"); share > kMuch)
    return fmt::format(
        "training waited for data {} of the time: raise data.workers ({}), cache decoded samples if the dataset has a "
        "cache, or inspect it with host data",
        percent(share), workers);
  if (const double share = share_of(stages, "processes"); share > kMuch)
    return "training waited for the other processes " + percent(share) +
           " of the time: raise data.batch_size or train.accumulate, or use fewer processes";
  if (const double share = share_of(stages, "validation"); share > kMuch)
    return "validation took " + percent(share) +
           " of the time: raise validation.every or data.validation_batch_size, or limit its batches";
  if (const double share = share_of(stages, "checkpoint"); share > kMuch)
    return "training waited for checkpoints " + percent(share) +
           " of the time: raise checkpoint.every, or write to a faster disk";
  if (const double share = share_of(stages, "history"); share > kMuch)
    return "writing metrics took " + percent(share) + " of the time: raise log.every, or write to a faster disk";
  for (const StageSeconds& stage : stages)
    if (const double share = share_of(stages, stage.name); share > kMuch && stage.name.starts_with(kCallback))
      return fmt::format("the {} took {} of the time: run it less often with `every`, or remove it", stage.name,
                         percent(share));
  return "";
}

}  // namespace tenon::pipeline
