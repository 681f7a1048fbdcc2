#include "framework/reporting/report/describe_run.h"

#include "tests/doctest_with_torch.h"
#include "tests/reporting/written_run.h"

namespace tenon::reporting {

namespace {

std::string plan_of(const std::string& lr, const std::string& seed, const std::string& more = "") {
  return "[run]\nseed = " + seed + "\n[model]\nuse = \"mlp\"\n[optimizer]\nlr = " + lr + "\n" + more;
}

std::vector<std::string> label(const std::vector<std::string>& plans) {
  std::vector<ReadRun> runs;
  for (size_t i = 0; i < plans.size(); ++i)
    runs.push_back(write_run({.name = "digits/2026-11-21T11-30-0" + std::to_string(i), .plan = plans[i]}));
  std::vector<std::string> texts;
  for (const RunLabel& one : label_runs(runs)) texts.push_back(std::to_string(one.number) + ": " + one.text());
  return texts;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("runs are named by the values that differ, and repetitions by their seeds") {
  CHECK(label({plan_of("0.1", "0"), plan_of("0.01", "0")}) == Texts{"0: lr=0.1", "1: lr=0.01"});
  CHECK(label({plan_of("0.1", "0"), plan_of("0.01", "0"), plan_of("0.1", "1"), plan_of("0.01", "1")}) ==
        Texts{"0: lr=0.1, seed=0", "1: lr=0.01, seed=0", "0: lr=0.1, seed=1", "1: lr=0.01, seed=1"});
  CHECK(label({plan_of("0.1", "0"), plan_of("0.1", "1")}) == Texts{"0: digits, seed=0", "0: digits, seed=1"});
}

TEST_CASE("keys with the same last part are named in full") {
  const std::string other = "[schedule]\nlr = ";
  CHECK(label({plan_of("0.1", "0", other + "1\n"), plan_of("0.2", "0", other + "2\n")}) ==
        Texts{"0: optimizer.lr=0.1, schedule.lr=1", "1: optimizer.lr=0.2, schedule.lr=2"});
}

TEST_CASE("equal runs are named by their time, and very different ones by their names") {
  CHECK(label({plan_of("0.1", "0"), plan_of("0.1", "0")}) ==
        Texts{"0: digits, 2026-11-21T11-30-00", "0: digits, 2026-11-21T11-30-01"});
  const std::string values = "[a]\nb = 1\nc = 1\nd = 1\ne = 1\n";
  CHECK(label({plan_of("0.1", "0"), plan_of("0.1", "0", values)}) ==
        Texts{"0: digits, 2026-11-21T11-30-00", "0: digits, 2026-11-21T11-30-01"});
}

}  // namespace tenon::reporting
