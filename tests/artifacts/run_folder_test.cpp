#include "framework/artifacts/run_folder.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <ctime>

#include "framework/artifacts/local_time.h"
#include "framework/config/print_run_plan.h"
#include "scratch.h"

namespace tenon::artifacts {

using support::ErrorKind;

namespace {

config::RunPlan make_plan(const std::filesystem::path& output_dir, const std::string& name) {
  config::RunPlan plan{};
  plan.run.name = name;
  plan.run.output_dir = output_dir;
  plan.model.use = "small_cnn";
  plan.data.train.use = "digits";
  plan.data.batch_size = 64;
  plan.train.epochs = 3;
  plan.optimizer.lr = 0.1;
  return plan;
}

// 2026-11-21T10:30:05Z
const auto kStart = std::chrono::system_clock::from_time_t(1795257005);

class TimeZone {
 public:
  explicit TimeZone(const char* zone) {
    if (const char* before = std::getenv("TZ")) before_ = before;
    ::setenv("TZ", zone, 1);
    ::tzset();
  }
  ~TimeZone() {
    before_.empty() ? ::unsetenv("TZ") : ::setenv("TZ", before_.c_str(), 1);
    ::tzset();
  }

 private:
  std::string before_;
};

}  // namespace

TEST_CASE("times are local and have an offset") {
  {
    const TimeZone zone("CET-1");
    CHECK(print_iso_8601(kStart) == "2026-11-21T11:30:05+01:00");
    CHECK(print_time_for_names(kStart) == "2026-11-21T11-30-05");
  }
  const TimeZone zone("NST3:30");
  CHECK(print_iso_8601(kStart) == "2026-11-21T07:00:05-03:30");
}

TEST_CASE("a run has a new folder with its plan and a checkpoints folder") {
  const TimeZone zone("UTC0");
  const Scratch scratch;
  const auto plan = make_plan(scratch / "out/runs", "digits");
  const RunFolder folder = make_run_folder(plan, kStart);
  CHECK(folder.root == scratch / "out/runs/digits/2026-11-21T10-30-05");
  CHECK(list_names(folder.root) == std::set<std::string>{"checkpoints", "plan.toml"});
  CHECK(read_all(folder.plan_file()) == config::print_run_plan(plan));
  CHECK(folder.log_file() == folder.root / "log.txt");
  CHECK(folder.record_file() == folder.root / "run.json");
  CHECK(folder.history_jsonl() == folder.root / "history.jsonl");
  CHECK(folder.history_csv() == folder.root / "history.csv");
}

TEST_CASE("runs of the same second are numbered") {
  const TimeZone zone("UTC0");
  const Scratch scratch;
  const auto plan = make_plan(scratch.path(), "digits");
  for (int i = 0; i < 3; ++i) make_run_folder(plan, kStart);
  CHECK(list_names(scratch / "digits") ==
        std::set<std::string>{"2026-11-21T10-30-05", "2026-11-21T10-30-05-2", "2026-11-21T10-30-05-3"});
}

TEST_CASE("a folder is locked by one process at a time, and others can detect it") {
  const Scratch scratch;
  CHECK_FALSE(is_run_folder_held(scratch.path()));
  {
    const support::FileDescriptor held = lock_run_folder(scratch.path());
    CHECK(is_run_folder_held(scratch.path()));
    CHECK(contains(find_error(ErrorKind::checkpoint, [&] { lock_run_folder(scratch.path()); }),
                   "another process is training in this folder"));
  }
  CHECK_FALSE(is_run_folder_held(scratch.path()));
  CHECK_FALSE(is_run_folder_held(scratch / "nowhere"));
}

TEST_CASE("a name that leads out of the output folder is refused") {
  const Scratch scratch;
  for (const std::string name : {"", ".", "..", "a/b", "/a"}) {
    const auto make = [&] { make_run_folder(make_plan(scratch.path(), name), kStart); };
    CHECK(contains(find_error(ErrorKind::configuration, make), "run.name is \"" + name + "\"; expected"));
  }
  CHECK(list_names(scratch.path()).empty());
}

TEST_CASE("an impossible output folder is refused with its path") {
  const Scratch scratch;
  write_all(scratch / "file", "");
  const auto make = [&] { make_run_folder(make_plan(scratch / "file", "digits"), kStart); };
  CHECK(contains(find_error(ErrorKind::configuration, make), "file/digits: cannot be created: Not a directory"));
}

}  // namespace tenon::artifacts
