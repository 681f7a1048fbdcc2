// Measures the cost per step of the monitoring that is always on: stage times, the progress bar, and the history with
// its events file. Runs the monitoring calls of train() for each step around a workload of a given duration. Reports
// the time without the workload.
#include <benchmark/benchmark.h>
#include <pty.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

#include "framework/artifacts/run_folder/history.h"
#include "framework/artifacts/run_folder/tensorboard_events.h"
#include "framework/callbacks/progress.h"
#include "framework/pipeline/state/events.h"

namespace {

using tenon::pipeline::Event;
using tenon::pipeline::InStage;
using tenon::pipeline::Stage;
using Clock = std::chrono::steady_clock;

// A pseudo-terminal with a thread that reads everything written to it.
class Terminal {
 public:
  Terminal() {
    int seen = -1, written = -1;
    winsize size{24, 120, 0, 0};
    if (::openpty(&seen, &written, nullptr, nullptr, &size) != 0) std::abort();
    stream_ = ::fdopen(written, "w");
    reader_ = std::thread([seen] {
      char piece[4096];
      while (::read(seen, piece, sizeof piece) > 0) continue;
      ::close(seen);
    });
  }
  ~Terminal() {
    std::fclose(stream_);
    reader_.join();
  }
  std::FILE* stream() const { return stream_; }

 private:
  std::FILE* stream_;
  std::thread reader_;
};

void work(std::chrono::microseconds length) {
  for (const auto end = Clock::now() + length; Clock::now() < end;) continue;
}

class MonitoredRun {
 public:
  explicit MonitoredRun(std::FILE* stream)
      : folder_(std::filesystem::temp_directory_path() / ("tenon-watching-" + std::to_string(::getpid()))),
        progress_(stream),
        dispatcher_({&progress_}, times_) {
    std::filesystem::create_directory(folder_);
    history_.emplace(folder_ / "history.jsonl", folder_ / "history.csv");
    events_.emplace(folder_, std::chrono::system_clock::now());
    state_.total_epochs = 1;
    state_.epoch = 1;
    state_.total_steps = state_.steps_per_epoch = 1'000'000;
    state_.read_epoch_loss = [] { return 0.25; };
    dispatch(Event::run_start);
    dispatch(Event::epoch_start);
  }
  ~MonitoredRun() { std::filesystem::remove_all(folder_); }

  // Returns the seconds without the workload.
  double step(std::chrono::microseconds length) {
    const auto begin = Clock::now();
    { const InStage stage(times_, Stage::data); }
    dispatch(Event::batch_fetched);
    dispatch(Event::step_start);
    {
      InStage stage(times_, Stage::transfer);
      stage.next(Stage::forward);
      dispatch(Event::forward_end);
      stage.next(Stage::losses);
      dispatch(Event::loss_end);
      stage.next(Stage::backward);
      const auto before = Clock::now();
      work(length);
      worked_ = Clock::now() - before;
    }
    dispatch(Event::backward_end);
    {
      const InStage stage(times_, Stage::optimizer);
      dispatch(Event::grads_ready);
      dispatch(Event::optimizer_before);
      dispatch(Event::optimizer_after);
    }
    ++state_.step;
    ++state_.step_in_epoch;
    state_.samples_in_epoch += 32;
    state_.step_loss = 0.25;
    state_.time_s += 1e-6 * static_cast<double>(length.count());
    dispatch(Event::step_end);
    if (state_.step % 50 == 0) log();
    return std::chrono::duration<double>(Clock::now() - begin - worked_).count();
  }

 private:
  void dispatch(Event event) { dispatcher_.dispatch(event, state_, requests_); }

  void log() {
    const tenon::artifacts::MetricValues metrics{
        {"train/gradient_norm", 1.5}, {"train/learning_rate", 1e-3}, {"train/loss", 0.25}};
    for (const auto& [name, value] : metrics) state_.metrics[name] = value;
    dispatch(Event::log);
    const InStage stage(times_, Stage::history);
    const tenon::artifacts::HistoryLine line{tenon::artifacts::HistoryEvent::step, 1, state_.step, state_.time_s,
                                             metrics};
    history_->append(line);
    events_->append(line, {"cross_entropy"}, std::chrono::system_clock::now());
  }

  std::filesystem::path folder_;
  tenon::pipeline::StageTimes times_;
  tenon::callbacks::Progress progress_;
  tenon::pipeline::EventDispatcher dispatcher_;
  std::optional<tenon::artifacts::History> history_;
  std::optional<tenon::artifacts::TensorboardEvents> events_;
  tenon::pipeline::RunState state_;
  tenon::pipeline::CallbackRequests requests_;
  Clock::duration worked_{};
};

void monitor(benchmark::State& state, std::FILE* stream) {
  MonitoredRun run(stream);
  const std::chrono::microseconds length(state.range(0));
  for (auto _ : state) state.SetIterationTime(run.step(length));
}

void on_a_terminal(benchmark::State& state) {
  const Terminal terminal;
  monitor(state, terminal.stream());
}

void in_a_file(benchmark::State& state) {
  std::FILE* const file = std::tmpfile();
  monitor(state, file);
  std::fclose(file);
}

// Each argument is the workload in microseconds per step. The history gets a line every 50 steps.
BENCHMARK(on_a_terminal)->Arg(100)->Arg(5000)->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(5000);
BENCHMARK(in_a_file)->Arg(100)->Arg(5000)->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(5000);

}  // namespace

BENCHMARK_MAIN();
