#include "framework/pipeline/state/stage_times.h"

#include <algorithm>

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
  double sum = 0, part = 0;
  for (const StageSeconds& stage : stages) {
    sum += stage.seconds;
    if (stage.name == name) part += stage.seconds;
  }
  return sum > 0 ? part / sum : 0;
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
  struct Advice {
    std::string stage, found, fix;
  };
  std::vector<Advice> known{
      {"data", "training waited for data",
       fmt::format("raise data.workers ({}), cache decoded samples if the dataset has a cache, or inspect it with host "
                   "data",
                   workers)},
      {"processes", "training waited for the other processes",
       "raise data.batch_size or train.accumulate, or use fewer processes"},
      {"validation", "validation took", "raise validation.every or data.validation_batch_size, or limit its batches"},
      {"checkpoint", "training waited for checkpoints", "raise checkpoint.every, or write to a faster disk"},
      {"history", "writing metrics took", "raise log.every, or write to a faster disk"}};
  for (const StageSeconds& stage : stages)
    if (stage.name.starts_with(kCallback))
      known.push_back({stage.name, "the " + stage.name + " took", "run it less often with `every`, or remove it"});
  for (const Advice& advice : known)
    if (const double share = share_of(stages, advice.stage); share > kMuch)
      return fmt::format("{} {:.0f} % of the time: {}", advice.found, 100 * share, advice.fix);
  return "";
}

}  // namespace tenon::pipeline
