// Runs that resume with another number of ranks, in the middle of an epoch and between epochs.
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"
#include "tests/ranks/run_ranks.h"

using namespace tenon::pipeline;
using tenon::distributed::ProcessGroup;
using tenon::distributed::run_connected;

namespace {

// ---- Values as text, from one process to another --------------------------------------------------------------------

void put(std::string& to, const std::string& bytes) { to += std::to_string(bytes.size()) + ":" + bytes; }
void put(std::string& to, int64_t value) { put(to, std::to_string(value)); }
void put(std::string& to, double value) { put(to, std::string(reinterpret_cast<const char*>(&value), sizeof value)); }

void put(std::string& to, const at::Tensor& given) {
  const at::Tensor tensor = given.contiguous();
  put(to, static_cast<int64_t>(tensor.scalar_type()));
  put(to, tensor.dim());
  for (const int64_t size : tensor.sizes()) put(to, size);
  put(to, std::string(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()));
}

class TextReader {
 public:
  explicit TextReader(const std::string& text) : text_(text) {}
  std::string bytes() {
    const size_t colon = text_.find(':', at_);
    const size_t size = std::stoul(text_.substr(at_, colon - at_));
    at_ = colon + 1 + size;
    return text_.substr(colon + 1, size);
  }
  int64_t count() { return std::stoll(bytes()); }
  double number() {
    double value = 0;
    std::memcpy(&value, bytes().data(), sizeof value);
    return value;
  }
  at::Tensor tensor() {
    const auto dtype = static_cast<at::ScalarType>(count());
    std::vector<int64_t> shape(static_cast<size_t>(count()));
    for (int64_t& size : shape) size = count();
    at::Tensor tensor = at::empty(shape, dtype);
    const std::string elements = bytes();
    if (!elements.empty()) std::memcpy(tensor.mutable_data_ptr(), elements.data(), elements.size());
    return tensor;
  }

 private:
  const std::string& text_;
  size_t at_ = 0;
};

std::string format_checkpoint(const Checkpoint& checkpoint) {
  std::string text;
  put(text, static_cast<int64_t>(checkpoint.model.size()));
  for (const auto& [name, tensor] : checkpoint.model) put(text, name), put(text, tensor);
  put(text, static_cast<int64_t>(checkpoint.state.tensors.size()));
  for (const auto& [name, tensor] : checkpoint.state.tensors) put(text, name), put(text, tensor);
  put(text, static_cast<int64_t>(checkpoint.state.numbers.size()));
  for (const auto& [name, value] : checkpoint.state.numbers) put(text, name), put(text, value);
  return text;
}

Checkpoint read_checkpoint(TextReader& reader) {
  Checkpoint checkpoint;
  for (int64_t left = reader.count(); left > 0; --left) {
    const std::string name = reader.bytes();
    checkpoint.model.push_back({name, reader.tensor()});
  }
  for (int64_t left = reader.count(); left > 0; --left) {
    const std::string name = reader.bytes();
    checkpoint.state.tensors[name] = reader.tensor();
  }
  for (int64_t left = reader.count(); left > 0; --left) {
    const std::string name = reader.bytes();
    checkpoint.state.numbers[name] = reader.number();
  }
  return checkpoint;
}

// ---- Runs -----------------------------------------------------------------------------------------------------------

struct ResumedLine {
  LineKind kind;
  int64_t epoch, step;
  std::map<std::string, double> metrics;
};

struct ResumedResult {
  std::vector<ResumedLine> lines;
  std::map<int64_t, int64_t> samples;  // of the epochs that ended
  int64_t step = 0, total_steps = 0, epoch = 0;
  std::vector<int64_t> checkpoint_steps;
  std::vector<Checkpoint> checkpoints;  // of rank 0, which has all of them
};

struct EpochSamples final : Observer {
  bool subscribes(Event event) const override { return event == Event::epoch_end; }
  void on_event(Event, const RunState& state, CallbackRequests&) override {
    samples[state.epoch] += state.samples_in_epoch;
  }
  std::map<int64_t, int64_t> samples;
};

std::string train_from(const Setup& setup, ProcessGroup& group, const Checkpoint* resumed) {
  BuiltRun run(setup, group);
  EpochSamples counting;
  const RunReport report = run.train({&counting}, 0, resumed);
  std::string text;
  for (const int64_t count : {report.state.step, report.state.total_steps, report.state.epoch}) put(text, count);
  put(text, static_cast<int64_t>(counting.samples.size()));
  for (const auto& [epoch, count] : counting.samples) put(text, epoch), put(text, count);
  put(text, static_cast<int64_t>(run.recorder.lines.size()));
  for (const RecordedLine& line : run.recorder.lines) {
    for (const int64_t count : {static_cast<int64_t>(line.kind), line.epoch, line.step}) put(text, count);
    put(text, static_cast<int64_t>(line.metrics.size()));
    for (const auto& [name, value] : line.metrics) put(text, name), put(text, value);
  }
  const bool is_first = group.rank() == 0;
  put(text, static_cast<int64_t>(is_first ? run.recorder.checkpoints.size() : 0));
  for (size_t i = 0; is_first && i < run.recorder.checkpoints.size(); ++i)
    put(text, run.recorder.checkpoint_steps[i]), put(text, format_checkpoint(run.recorder.checkpoints[i]));
  return text;
}

ResumedResult read_result(const std::string& text) {
  ResumedResult result;
  TextReader reader(text);
  for (int64_t* count : {&result.step, &result.total_steps, &result.epoch}) *count = reader.count();
  for (int64_t left = reader.count(); left > 0; --left) {
    const int64_t epoch = reader.count();
    result.samples[epoch] = reader.count();
  }
  for (int64_t left = reader.count(); left > 0; --left) {
    ResumedLine& line = result.lines.emplace_back();
    line.kind = static_cast<LineKind>(reader.count());
    line.epoch = reader.count();
    line.step = reader.count();
    for (int64_t metrics = reader.count(); metrics > 0; --metrics) {
      const std::string name = reader.bytes();
      line.metrics[name] = reader.number();
    }
  }
  for (int64_t left = reader.count(); left > 0; --left) {
    result.checkpoint_steps.push_back(reader.count());
    const std::string checkpoint = reader.bytes();
    TextReader of_checkpoint(checkpoint);
    result.checkpoints.push_back(read_checkpoint(of_checkpoint));
  }
  return result;
}

// Trains on `size` ranks, from each of the checkpoints or from the start. Returns the results of rank 0.
std::vector<ResumedResult> resume_in(int64_t size, const Setup& setup, const std::vector<const Checkpoint*>& from) {
  const auto texts = run_connected(size, [&](ProcessGroup& group) {
    std::string all;
    for (const Checkpoint* checkpoint : from) put(all, train_from(setup, group, checkpoint));
    return all;
  });
  std::vector<ResumedResult> results;
  REQUIRE_MESSAGE(!texts[0].starts_with("threw: "), texts[0]);
  REQUIRE_MESSAGE(!texts[0].starts_with("ended: "), texts[0]);
  TextReader reader(texts[0]);
  for (size_t i = 0; i < from.size(); ++i) results.push_back(read_result(reader.bytes()));
  return results;
}

// 151 samples: 13 steps with batches of 12 in total.
Setup resumed_setup(int64_t batch_size, const std::vector<std::string>& more) {
  Setup setup{{"run.deterministic=true", "data.workers=0", "data.train.subset=\"10.535%\"", "train.epochs=2",
               "data.batch_size=" + std::to_string(batch_size), "data.validation.subset=\"20%\"",
               "checkpoint.every=\"1 step\"", "log.every=\"1 step\"", "optimizer={use=\"sgd\",lr=0.05,momentum=0.9}",
               "metric=[{use=\"accuracy\",on=[\"train\",\"validation\"]},"
               "{use=\"roc_auc\",params={classes=10},on=[\"train\"]}]"}};
  setup.overrides.insert(setup.overrides.end(), more.begin(), more.end());
  return setup;
}

// Checkpoints in the middle of both epochs and at the ends of them.
const std::vector<size_t> kResumed{0, 5, 11, 12, 17};

std::vector<const Checkpoint*> choose(const ResumedResult& whole, const std::vector<size_t>& places = kResumed) {
  std::vector<const Checkpoint*> chosen;
  for (const size_t place : places)
    if (place < whole.checkpoints.size()) chosen.push_back(&whole.checkpoints[place]);
  return chosen;
}

const ResumedLine& find_epoch(const ResumedResult& result, int64_t epoch) {
  for (const ResumedLine& line : result.lines)
    if (line.kind == LineKind::epoch && line.epoch == epoch) return line;
  FAIL("there is no epoch " << epoch);
  return result.lines.front();
}

void check_equal(double one, double other, double limit) {
  if (std::isnan(one) && std::isnan(other)) return;
  CHECK(std::abs(one - other) <= limit * std::max(1e-3, std::abs(other)));
}

}  // namespace

TEST_CASE("ranks that resume a run in the middle of an epoch read each remaining sample once") {
  // The weights do not change, so that the loss of an epoch is a mean over its samples.
  const std::vector<std::string> constant{"optimizer.lr=1e-30"};
  struct Case {
    std::vector<std::string> more;
    int64_t samples;
  };
  for (const Case& one : {Case{{}, 151}, Case{{"train.accumulate=2"}, 151},
                          Case{{"data.train={use=\"noise\"}", "data.validation={use=\"noise\"}",
                                "data.repeated_augmentation=3", "data.batch_size=2"},
                               40}})
    for (const auto& sizes : {std::pair(1, 2), std::pair(2, 1), std::pair(2, 3), std::pair(3, 2)}) {
      const auto& before = sizes.first;
      const auto& after = sizes.second;
      CAPTURE(one.more);
      CAPTURE(before);
      CAPTURE(after);
      Setup setup = resumed_setup(4, constant);
      setup.overrides.insert(setup.overrides.end(), one.more.begin(), one.more.end());
      const ResumedResult whole = resume_in(before, setup, {nullptr}).at(0);
      const auto chosen = choose(whole);
      const auto results = resume_in(after, setup, chosen);
      for (size_t i = 0; i < results.size(); ++i) {
        CAPTURE(whole.checkpoint_steps[kResumed[i]]);
        CHECK(results[i].epoch == 2);
        CHECK(results[i].step == results[i].total_steps);
        for (const auto& [epoch, samples] : results[i].samples) {
          CHECK(samples == one.samples);
          const ResumedLine &found = find_epoch(results[i], epoch), &expected = find_epoch(whole, epoch);
          CHECK(found.metrics.size() == expected.metrics.size());
          check_equal(found.metrics.at("train/loss"), expected.metrics.at("train/loss"), 1e-6);
          CHECK(found.metrics.at("train/accuracy") == expected.metrics.at("train/accuracy"));
          check_equal(found.metrics.at("train/roc_auc"), expected.metrics.at("train/roc_auc"), 1e-12);
        }
        // Each epoch ends once, in the interrupted run or in the resumed one.
        std::map<int64_t, int64_t> ends;
        for (const ResumedLine& line : whole.lines)
          ends[line.epoch] += line.kind == LineKind::epoch && line.step < whole.checkpoint_steps[kResumed[i]];
        for (const ResumedLine& line : results[i].lines) ends[line.epoch] += line.kind == LineKind::epoch;
        CHECK(ends == std::map<int64_t, int64_t>{{1, 1}, {2, 1}});
      }
    }
}

TEST_CASE("ranks that resume a run with the same total batch have the losses of one process") {
  const std::vector<std::vector<std::string>> settings{
      {"schedule={use=\"cosine\"}"},
      {"train.accumulate=2", "optimizer={use=\"adamw\",lr=0.01}", "train.average={use=\"ema\",decay=0.9}"}};
  for (const auto& more : settings) {
    const ResumedResult whole = resume_in(1, resumed_setup(12, more), {nullptr}).at(0);
    for (const auto& sizes : {std::pair(1, 3), std::pair(3, 1), std::pair(2, 3), std::pair(3, 2)}) {
      const auto& before = sizes.first;
      const auto& after = sizes.second;
      CAPTURE(before);
      CAPTURE(after);
      const ResumedResult begun = resume_in(before, resumed_setup(12 / before, more), {nullptr}).at(0);
      const auto results = resume_in(after, resumed_setup(12 / after, more), choose(begun));
      for (size_t i = 0; i < results.size(); ++i) {
        const int64_t step = begun.checkpoint_steps[kResumed[i]];
        CAPTURE(step);
        CHECK(results[i].step == whole.step);
        CHECK(results[i].total_steps == whole.total_steps);
        const auto steps_of = [&](const ResumedResult& result) {
          std::vector<const ResumedLine*> steps;
          for (const ResumedLine& line : result.lines)
            if (line.kind == LineKind::step && line.step > step) steps.push_back(&line);
          return steps;
        };
        const std::vector<const ResumedLine*> found = steps_of(results[i]), expected = steps_of(whole);
        REQUIRE(found.size() == expected.size());
        for (size_t k = 0; k < found.size(); ++k) {
          CHECK(found[k]->step == expected[k]->step);
          CHECK(found[k]->metrics.at("train/learning_rate") == expected[k]->metrics.at("train/learning_rate"));
          // Weights differ by roundings, unless they are those of one process.
          const double limit = before == 1 && k == 0 ? 1e-6 : 1e-5;
          check_equal(found[k]->metrics.at("train/loss"), expected[k]->metrics.at("train/loss"), limit);
          check_equal(found[k]->metrics.at("train/gradient_norm"), expected[k]->metrics.at("train/gradient_norm"),
                      limit);
        }
        for (const auto& [epoch, samples] : results[i].samples) {
          CHECK(samples == 151);
          check_equal(find_epoch(results[i], epoch).metrics.at("train/loss"),
                      find_epoch(whole, epoch).metrics.at("train/loss"), 1e-5);
        }
      }
    }
  }
}

TEST_CASE("samples that could not be read are counted once, if the number of ranks changes") {
  const std::vector<std::string> torn{"data.train={use=\"torn\",params={broken=[3,7,11,20,30]}}",
                                      "data.validation={use=\"torn\"}", "data.on_error=\"skip\"", "metric=[]"};
  for (const auto& sizes : {std::pair(1, 3), std::pair(3, 1), std::pair(3, 2)}) {
    const auto& before = sizes.first;
    const auto& after = sizes.second;
    CAPTURE(before);
    const ResumedResult whole = resume_in(before, resumed_setup(3, torn), {nullptr}).at(0);
    const auto results = resume_in(after, resumed_setup(3, torn), choose(whole, {0, 1, 2, 3}));
    REQUIRE(results.size() == 4);
    for (const ResumedResult& result : results)
      for (const auto& [epoch, samples] : result.samples) {
        CHECK(samples == 35);
        CHECK(find_epoch(result, epoch).metrics.at("train/skipped_samples") == 5);
      }
  }
}

TEST_CASE("ranks that the interrupted run did not have continue with other random numbers than at its start") {
  const std::vector<std::string> dropout{"model={use=\"segmented\"}", "optimizer.lr=1e-30", "metric=[]"};
  const Setup setup = resumed_setup(8, dropout);
  const ResumedResult whole = resume_in(1, setup, {nullptr}).at(0);
  const auto resumed = resume_in(2, setup, choose(whole, {2, 2, 3}));
  const auto random = [](const ResumedResult& result) {
    return result.checkpoints.back().state.tensors.at("rank1.random.cpu");
  };
  // From the same checkpoint the same ones, from another one others.
  CHECK(at::equal(random(resumed[0]), random(resumed[1])));
  CHECK_FALSE(at::equal(random(resumed[0]), random(resumed[2])));
}
