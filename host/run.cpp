#include "host/run.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "framework/callbacks/make_observers.h"
#include "framework/callbacks/progress.h"
#include "framework/config/print_run_plan.h"
#include "framework/pipeline/device_memory.h"
#include "framework/pipeline/model_summary.h"
#include "framework/pipeline/model_tensors.h"
#include "framework/pipeline/train.h"
#include "framework/support/error.h"
#include "framework/support/log.h"
#include "host/open_run.h"
#include "host/ranks.h"
#include "host/resume.h"
#include "host/run_recorder.h"
#include "host/signals.h"
#include "host/temporary_folder.h"
#include "host/text_table.h"
#include "host/trace_observer.h"
#include "host/verify_resume/kill_at.h"

namespace tenon::host {

namespace {

void print_data(const std::string& label, const pipeline::DataFlow& data) {
  std::printf("  %-12s %s: %lld samples, %lld batches of %lld\n", label.c_str(),
              data.feed.dataset().component().schema.id.c_str(), static_cast<long long>(data.feed.sampler().size()),
              static_cast<long long>(data.feed.batches()), static_cast<long long>(data.feed.batch_size()));
}

void print_change(const config::LaterDataset& later) {
  std::printf("  from epoch %lld:", static_cast<long long>(later.at_epoch));
  for (const auto& [name, value] : later.changed) std::printf(" %s = %s", name.c_str(), config::to_toml(value).c_str());
  std::printf("\n");
}

void print_opening(const pipeline::Training& training, const RunRecorder& recorder) {
  const plugins::Component& model = training.model.component();
  std::printf("model %s (%s %s)\n%s", model.schema.id.c_str(), model.plugin->id.c_str(), model.plugin->version.c_str(),
              pipeline::summarize_model(training.model).c_str());
  std::printf("data\n");
  print_data("train", *training.train);
  for (const config::LaterDataset& later : training.plan->data.later_train) print_change(later);
  for (const auto& data : training.validation) print_data(data->name(), *data);
  std::printf("run folder %s\n", recorder.folder().c_str());
  std::fflush(stdout);
}

// "forward 41 %, backward 30 %, data 12 %", the longest first; what took less than a half of a percent is left out.
std::string describe_stages(std::vector<pipeline::StageSeconds> stages) {
  std::ranges::sort(stages, std::greater(), &pipeline::StageSeconds::seconds);
  double sum = 0;
  for (const pipeline::StageSeconds& stage : stages) sum += stage.seconds;
  std::string text;
  for (const pipeline::StageSeconds& stage : stages) {
    char share[32];
    std::snprintf(share, sizeof share, " %.0f %%", 100 * stage.seconds / sum);
    if (stage.seconds / sum >= 0.005) text += (text.empty() ? "" : ", ") + stage.name + share;
  }
  return text;
}

// What a person would look at first where it took long, and what to do about it.
void print_costs(const pipeline::RunReport& report, const pipeline::Training& training) {
  constexpr double kTooShortForAdvice = 5;  // seconds
  std::printf("time: %s\n", describe_stages(report.stages).c_str());
  if (report.state.time_s >= kTooShortForAdvice)
    if (const std::string advice = pipeline::advise(report.stages, training.plan->data.workers); !advice.empty())
      std::printf("%s\n", advice.c_str());
  std::printf("memory: %s at most", print_bytes(static_cast<uint64_t>(artifacts::read_peak_memory())).c_str());
  if (const auto device = pipeline::peak_memory_mib(training.device))
    std::printf(", %.1f MiB on the device, for which training waited %lld times", *device,
                static_cast<long long>(report.state.host_waits));
  std::printf("\n");
}

void print_closing(const pipeline::RunReport& report, const pipeline::Training& training, const RunRecorder& recorder) {
  const bool finished = report.end == pipeline::RunReport::End::finished;
  std::printf("%s after %lld steps in %s", finished ? "finished" : "stopped", static_cast<long long>(report.state.step),
              callbacks::format_duration(report.state.time_s).c_str());
  if (!finished) std::printf(" (%s)", report.reason.c_str());
  for (const auto& [name, value] : report.state.figures)
    if (report.state.validated_step == report.state.step && name.starts_with("validation/"))
      std::printf("  %s %s", name.c_str(), callbacks::format_figure(value).c_str());
  std::printf("\n");
  print_costs(report, training);
  std::printf("weights in %s\n", (recorder.last_checkpoint() / artifacts::kModelFile).c_str());
  if (report.best)
    std::printf(
        "best %s %s, after step %lld, in %s\n", training.monitor->figure.c_str(),
        callbacks::format_figure(report.best->value).c_str(), static_cast<long long>(report.best->step),
        (artifacts::RunFolder{recorder.folder()}.checkpoints() / artifacts::kBest / artifacts::kModelFile).c_str());
}

pipeline::RunReport train_with_observers(pipeline::Training& training, pipeline::Recorder& recorder,
                                         const std::optional<Resumption>& resumption, const CommandLine& line) {
  callbacks::Progress progress(stdout);
  const pipeline::ModelTensors tensors(training.model);
  const auto callbacks = callbacks::make_observers(training.callbacks, training.plan->callbacks, &tensors);
  std::vector<pipeline::Observer*> observers;
  if (!training.group || training.group->world().is_first()) observers.push_back(&progress);
  for (const auto& callback : callbacks) observers.push_back(callback.get());
  std::optional<TraceObserver> trace;
  if (line.first_traced_step > 0)
    observers.push_back(&trace.emplace(line.first_traced_step, line.last_traced_step, training.device));
  // A run that was started again is let live.
  std::optional<KillObserver> kill;
  if (const auto at = read_kill_at(); at && distributed::read_world().attempt == 0)
    observers.push_back(&kill.emplace(*at));
  return pipeline::train(training, observers, recorder, {stop_signal(), save_signal()},
                         resumption ? &resumption->checkpoint : nullptr);
}

// What ended the run is the error to report, also where the disk that it filled has no room for this.
void finish_failed(RunRecorder& recorder, const std::string& reason, int exit_code) {
  try {
    recorder.finish_checkpoint();
  } catch (const std::exception& error) {
    support::log_warning(error.what());
  }
  try {
    recorder.finish(artifacts::RunStatus::failed, reason, exit_code);
  } catch (const std::exception& error) {
    support::log_warning(error.what());
  }
}

void finish_checkpoint(distributed::ProcessGroup* group, RunRecorder& recorder) {
  const auto finish = [&recorder] { recorder.finish_checkpoint(); };
  group ? group->let_first_work(finish) : finish();
}

int train_and_record(pipeline::Training& training, RunRecorder& recorder, const std::optional<Resumption>& resumption,
                     const CommandLine& line) {
  print_opening(training, recorder);
  if (resumption)
    std::printf("resumed from %s (epoch %lld, step %lld)\n", resumption->from.folder.c_str(),
                static_cast<long long>(resumption->from.manifest.epoch),
                static_cast<long long>(resumption->from.manifest.step));
  try {
    const pipeline::RunReport report = train_with_observers(training, recorder, resumption, line);
    finish_checkpoint(training.group, recorder);
    const int exit_code = report.signal != 0 ? 128 + report.signal : 0;
    const bool finished = report.end == pipeline::RunReport::End::finished;
    recorder.finish(finished ? artifacts::RunStatus::finished : artifacts::RunStatus::stopped, report.reason, exit_code,
                    &report);
    print_closing(report, training, recorder);
    return exit_code;
  } catch (const support::Error& error) {
    finish_failed(recorder, error.what(), error.exit_code());
    throw;
  } catch (const std::exception& error) {
    finish_failed(recorder, error.what(), static_cast<int>(support::ErrorKind::internal));
    throw;
  }
}

// One of everything: a step, a batch of each validation, a checkpoint.
void shorten(config::RunPlan& plan, const std::filesystem::path& output_dir) {
  const config::Period each_step{config::Period::Unit::steps, 1};
  plan.run.output_dir = output_dir;
  plan.train.epochs = 0;
  plan.train.steps = 1;
  plan.data.limit_batches = plan.train.accumulate;
  plan.data.validation_limit_batches = 1;
  if (!plan.data.validation.empty()) plan.validation.every = each_step;
  plan.checkpoint.every = plan.log.every = each_step;
}

// Of a rank that is not the first.
int train_silently(pipeline::Training& training, const std::optional<Resumption>& resumption, const CommandLine& line) {
  SilentRecorder recorder(training.group->share("run folder", ""));
  const pipeline::RunReport report = train_with_observers(training, recorder, resumption, line);
  training.group->let_first_work([] {});  // rank 0 writes its last checkpoint
  return report.signal != 0 ? 128 + report.signal : 0;
}

void print_nothing_to_do(const Resumption& resumption) {
  std::printf(
      "%s has finished: step %lld was its last. Nothing is left to do; a larger train.epochs or train.steps would "
      "train on\n",
      resumption.from.run.c_str(), static_cast<long long>(resumption.from.manifest.step));
}

int run_plan(const CommandLine& line, const OpenedRun& opened, int64_t attempt, distributed::ProcessGroup* group) {
  const std::optional<Resumption> resumption = find_resumption(line.resume, attempt, opened, group);
  config::RunPlan plan = opened.plan;
  if (resumption) plan.model.weights.clear();  // the checkpoint has those that count, and the file may be gone
  pipeline::Training training = pipeline::build_training(plan, opened.catalogue, opened.device.device, group);
  if (line.action == CommandLine::Action::check) {
    std::fputs(config::print_run_plan(opened.plan).c_str(), stdout);
    if (std::fflush(stdout) != 0)
      throw support::Error(support::ErrorKind::internal, std::string("the plan cannot be printed: ") + strerror(errno));
    return 0;
  }
  const bool is_first = !group || group->world().is_first();
  if (resumption && is_finished(*resumption, training)) {
    if (is_first) print_nothing_to_do(*resumption);
    return 0;
  }
  catch_stop_signals();
  if (!is_first) return train_silently(training, resumption, line);
  RunRecorder recorder(opened.plan, training, opened.catalogue, opened.device.device, line.arguments,
                       resumption ? &resumption->from : nullptr);
  if (group) group->share("run folder", recorder.folder().string());
  return train_and_record(training, recorder, resumption, line);
}

int run_dry(const CommandLine& line, OpenedRun& opened, int64_t attempt, distributed::ProcessGroup* group) {
  const TemporaryFolder folder("tenon-dry-run-");
  shorten(opened.plan, folder.path());
  const int exit_code = run_plan(line, opened, attempt, group);
  if (exit_code == 0 && (!group || group->world().is_first()))
    std::printf("dry run: one step, its validation and a checkpoint went well; nothing of it is kept\n");
  return exit_code;
}

}  // namespace

int run(const CommandLine& line, const distributed::World& world) {
  read_kill_at();  // refused before anything is done
  OpenedRun opened = open_run(line, Computes::yes, static_cast<int>(world.local_rank));
  const auto group = join_ranks(world, opened);
  try {
    const int exit_code = line.is_dry_run ? run_dry(line, opened, world.attempt, group.get())
                                          : run_plan(line, opened, world.attempt, group.get());
    if (group) group->meet();
    return exit_code;
  } catch (const std::exception& error) {
    if (group) end_rank(*group, error);
    throw;
  }
}

}  // namespace tenon::host
