// The metrics of a run do not depend on the number of ranks.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <sstream>

#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"
#include "tests/ranks/run_ranks.h"

namespace split_test {

using namespace tenon::pipeline;
using tenon::distributed::ProcessGroup;
using tenon::distributed::run_connected;

namespace {

// The accuracy of one of the 157 to 359 samples.
constexpr double kOneSample = 1.001 / 157;

const std::string kIgnoring =
    "[[loss]]\nuse = \"cross_entropy\"\nname = \"without_threes\"\nweight = 0.5\nparams = { ignore_index = 3 }\n";

// One with sums and one that keeps a row for each sample.
const std::string kTrainMetrics =
    "metric=[{use=\"accuracy\",on=[\"train\",\"validation\"]},{use=\"roc_auc\",params={classes=10},on=[\"train\"]}]";

// Returns all metrics of a run's history, one per line, with all digits.
std::string train_once(const Setup& setup, ProcessGroup& group) {
  BuiltRun run(setup, group);
  run.train();
  std::ostringstream text;
  text.precision(17);
  for (const RecordedLine& line : run.recorder.lines) {
    if (line.kind == LineKind::checkpoint) continue;
    for (const auto& [name, value] : line.metrics) text << line.step << " " << name << " " << value << "\n";
  }
  return text.str();
}

// Runs each setup on `size` ranks. Checks that all ranks have the same result and returns that of rank 0.
std::vector<std::string> train_in(int64_t size, const std::vector<Setup>& setups) {
  const auto texts = run_connected(size, [&](ProcessGroup& group) {
    std::string all;
    for (const Setup& setup : setups) all += train_once(setup, group) + '\f';
    return all;
  });
  for (const std::string& text : texts) CHECK(text == texts[0]);
  std::vector<std::string> each;
  std::istringstream all(texts[0]);
  for (std::string one; std::getline(all, one, '\f');) each.push_back(one);
  return each;
}

void compare(const std::string& split, const std::string& whole, double limit) {
  std::istringstream splits(split), wholes(whole);
  std::string step, name, of_step, of_name;
  double a = 0, b = 0;
  int64_t count = 0;
  while (wholes >> step >> name >> a) {
    REQUIRE(static_cast<bool>(splits >> of_step >> of_name >> b));
    CAPTURE(step);
    CAPTURE(name);
    REQUIRE(of_step == step);
    REQUIRE(of_name == name);
    // Rounding may change the class of a sample with two nearly equal largest logits.
    if (name.ends_with("accuracy"))
      CHECK(std::abs(a - b) <= kOneSample);
    else if (!std::isnan(a) || !std::isnan(b))
      CHECK(std::abs(a - b) <= limit * std::max(1e-3, std::abs(a)));
    ++count;
  }
  CHECK_FALSE(static_cast<bool>(splits >> of_step));
  CHECK(count > 0);
}

// Sets batches of 12 samples in total over all ranks.
Setup share_of(int64_t size, const Setup& setup) {
  Setup shared = setup;
  shared.overrides.push_back("data.batch_size=" + std::to_string(12 / size));
  shared.overrides.push_back("data.validation_batch_size=" + std::to_string(24 / size));
  shared.overrides.push_back("log.every=\"1 step\"");
  return shared;
}

void check_split(const std::vector<Setup>& setups, double limit) {
  std::vector<std::string> whole;
  for (const int64_t size : {1, 2, 3, 4}) {
    CAPTURE(size);
    std::vector<Setup> shared;
    for (const Setup& setup : setups) shared.push_back(share_of(size, setup));
    const auto texts = train_in(size, shared);
    REQUIRE_MESSAGE(texts.size() == setups.size(), (texts.empty() ? std::string() : texts[0]));
    if (size == 1) {
      whole = texts;
      continue;
    }
    for (size_t i = 0; i < texts.size(); ++i) {
      CAPTURE(setups[i].overrides[0]);
      compare(texts[i], whole[i], limit);
    }
  }
}

// Returns the subset of the 1,438 training digits with this number of samples.
std::string samples(int64_t count) {
  char percent[32];
  std::snprintf(percent, sizeof percent, "%.4f", (static_cast<double>(count) + 0.5) / 1438 * 100);
  return std::string("data.train.subset=\"") + percent + "%\"";
}

}  // namespace

TEST_CASE("one to four ranks give the same losses and metrics") {
  const std::vector<std::string> sgd{"optimizer={use=\"sgd\",lr=0.05,momentum=0.9}", "train.epochs=2"};
  const auto with = [&](const std::string& first, const std::vector<std::string>& more, const std::string& losses) {
    Setup setup{{first}, losses};
    setup.overrides.insert(setup.overrides.end(), sgd.begin(), sgd.end());
    setup.overrides.insert(setup.overrides.end(), more.begin(), more.end());
    return setup;
  };
  check_split(
      {with(samples(602), {}, ""), with(samples(151), {"train.accumulate=4"}, ""), with(samples(152), {}, kIgnoring),
       with(samples(153), {"train.accumulate=3"}, kIgnoring), with(samples(154), {"train.clip_norm=0.5"}, ""),
       with(samples(155), {"train.average={use=\"ema\",decay=0.9}"}, ""),
       with(samples(155), {"optimizer={use=\"schedule_free_adamw\",lr=0.01}"}, ""),
       with(samples(155), {"optimizer={use=\"adamw\",lr=0.01}", "distributed.shard=\"optimizer\""}, ""),
       with(samples(154), {"optimizer={use=\"muon\",lr=0.01}", "distributed.shard=\"optimizer\"", "train.accumulate=3"},
            ""),
       with(samples(151), {"distributed.shard=\"gradients\"", "train.accumulate=4"}, ""),
       with(samples(152), {"distributed.shard=\"gradients\"", "train.clip_norm=0.5"}, kIgnoring),
       with(samples(153), {"distributed.shard=\"gradients\"", "train.accumulate=3"}, kIgnoring),
       with(samples(157), {"train.accumulate=3", kTrainMetrics}, "")},
      1e-5);
}

TEST_CASE("one to four ranks give the same metrics of the test data, with the best and with the last weights") {
  const std::string test = "data.test={use=\"digits\",params={split=\"test\"},subset=\"30%-80%\"}";
  std::vector<Setup> setups;
  for (const std::string monitor : {"validation/loss", ""})
    setups.push_back({{samples(157), test, "train.epochs=2", "checkpoint.monitor=\"" + monitor + "\""}, ""});
  const std::vector<std::string> whole = train_in(1, {share_of(1, setups[0])});
  CHECK(whole.at(0).find(" test/accuracy ") != std::string::npos);
  check_split(setups, 1e-5);
}

TEST_CASE("ranks with batch normalisation over all ranks give the same losses, also if one has no batch") {
  std::vector<Setup> setups;
  for (const int64_t size : {12, 13, 26})
    setups.push_back({{samples(size), "train.epochs=2", "model={use=\"small_cnn\",params={width=4}}",
                       "optimizer={use=\"sgd\",lr=0.01}", "distributed.synchronize_batch_norm=true"},
                      ""});
  check_split(setups, 1e-4);
}

TEST_CASE("every sample counts once, for any size of the data") {
  std::mt19937 random(7);
  std::vector<Setup> setups;
  for (const int64_t size : {1, 2, 3, 4, 5, 11, 12, 13, 101}) setups.push_back({{samples(size), "train.epochs=2"}, ""});
  const char* more = std::getenv("TENON_SPLITS");
  for (int i = 0; i < (more ? std::atoi(more) : 0); ++i)
    setups.push_back({{samples(1 + static_cast<int64_t>(random() % 400)), "train.epochs=1",
                       "data.validation.subset=\"" + std::to_string(1 + random() % 99) + "%\""},
                      ""});
  check_split(setups, 1e-5);
}

}  // namespace split_test
