#include "framework/artifacts/run_folder/run_folder.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <ctime>

#include "framework/artifacts/run_folder/run_record.h"
#include "framework/config/file/format_run_plan.h"
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
    CHECK(format_iso_8601(kStart) == "2026-11-21T11:30:05+01:00");
    CHECK(format_time_for_names(kStart) == "2026-11-21T11-30-05");
  }
  const TimeZone zone("NST3:30");
  CHECK(format_iso_8601(kStart) == "2026-11-21T07:00:05-03:30");
}

TEST_CASE("a run has a new folder with its plan and a checkpoints folder") {
  const TimeZone zone("UTC0");
  const Scratch scratch;
  const auto plan = make_plan(scratch / "out/runs", "digits");
  const RunFolder folder = make_run_folder(plan, kStart);
  CHECK(folder.root == scratch / "out/runs/digits/2026-11-21T10-30-05");
  CHECK(list_names(folder.root) == std::set<std::string>{"checkpoints", "plan.toml"});
  CHECK(read_all(folder.plan_file()) == config::format_run_plan(plan));
  CHECK(folder.log_file() == folder.root / "log.txt");
  CHECK(folder.record_file() == folder.root / "run.json");
  CHECK(folder.history_jsonl() == folder.root / "history.jsonl");
  CHECK(folder.history_csv() == folder.root / "history.csv");
}

TEST_CASE("the first files of a run are complete under their names, and are synced later") {
  const Scratch scratch;
  const RunFolder run = make_run_folder(make_plan(scratch / "runs", "digits"), kStart);
  for (const char* text : {"first", "second"}) write_unsynced(run.record_file(), text, ErrorKind::system);
  CHECK(read_all(run.record_file()) == "second");
  CHECK(list_names(run.root) == std::set<std::string>{"checkpoints", "plan.toml", "run.json"});
  sync_start(run);
  std::filesystem::remove(run.plan_file());
  CHECK(contains(find_error(ErrorKind::system, [&] { sync_start(run); }), "plan.toml: cannot be opened to sync it"));
}

TEST_CASE("a file that cannot be replaced leaves nothing else in the run folder") {
  const Scratch scratch;
  std::filesystem::create_directories(scratch / "run.json/x");
  const auto write = [&] { write_unsynced(scratch / "run.json", "", ErrorKind::system); };
  CHECK(contains(find_error(ErrorKind::system, write), "run.json: cannot be renamed to its final name"));
  CHECK(list_names(scratch.path()) == std::set<std::string>{"run.json"});
}

TEST_CASE("runs of the same second are numbered") {
  const TimeZone zone("UTC0");
  const Scratch scratch;
  const auto plan = make_plan(scratch.path(), "digits");
  for (int i = 0; i < 3; ++i) make_run_folder(plan, kStart);
  CHECK(list_names(scratch / "digits") ==
        std::set<std::string>{"2026-11-21T10-30-05", "2026-11-21T10-30-05-2", "2026-11-21T10-30-05-3"});
}

TEST_CASE("the newest run has the last name, also after the clock was ahead or the hour occurs twice") {
  const Scratch scratch;
  const auto plan = make_plan(scratch.path(), "digits");
  const TimeZone zone("CET-1CEST,M3.5.0,M10.5.0/3");
  const std::chrono::sys_days day = std::chrono::year(2026) / 10 / 25;
  for (const auto since_midnight : {std::chrono::minutes(50), std::chrono::minutes(70)})  // 02:50 CEST, 02:10 CET
    make_run_folder(plan, day + since_midnight);
  std::filesystem::create_directories(scratch / "digits/2026-12-01T00-00-00-7");  // -2 to -6 were removed
  make_run_folder(plan, day + std::chrono::hours(5));
  std::vector<std::string> names;
  for (const auto& run : list_runs(scratch.path(), "digits")) names.push_back(run.filename());
  CHECK(names == std::vector<std::string>{"2026-12-01T00-00-00-8", "2026-12-01T00-00-00-7", "2026-10-25T02-50-00-2",
                                          "2026-10-25T02-50-00"});
}

TEST_CASE("a number that would overflow is not the number of a run") {
  const Scratch scratch;
  const TimeZone zone("UTC0");
  for (const std::string name : {"2026-11-21T10-30-05-2147483647", "2026-11-21T10-30-05-99999999999999999999"})
    std::filesystem::create_directories(scratch / "digits" / name);
  CHECK(make_run_folder(make_plan(scratch.path(), "digits"), kStart).root.filename() == "2026-11-21T10-30-05");
}

TEST_CASE("a new run removes what killed runs of its name left, but nothing that a process may be writing") {
  const Scratch scratch;
  const auto plan = make_plan(scratch.path(), "digits");
  const RunFolder killed = make_run_folder(plan, kStart), running = make_run_folder(plan, kStart);
  const support::FileDescriptor held = lock_run_folder(running.root);
  const auto age = [](const std::filesystem::path& path) {
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  };
  for (const RunFolder& run : {killed, running}) {
    for (const char* const name : {".history.csv.tmp-7-0", "history.csv"}) {
      write_all(run.root / name, "x");
      age(run.root / name);
    }
    const auto unfinished = run.checkpoints() / ".step-00000002.tmp-7-1";
    std::filesystem::create_directories(unfinished);
    write_all(unfinished / "model.safetensors", "x");
    age(unfinished);
    write_all(run.root / ".report.html.tmp-8-0", "x");  // of the last hour
  }
  make_run_folder(plan, kStart);
  CHECK(list_names(killed.root) ==
        std::set<std::string>{".report.html.tmp-8-0", "checkpoints", "history.csv", "plan.toml"});
  CHECK(list_names(killed.checkpoints()).empty());
  CHECK(list_names(running.root) == std::set<std::string>{".history.csv.tmp-7-0", ".report.html.tmp-8-0", "checkpoints",
                                                          "history.csv", "plan.toml"});
  CHECK(list_names(running.checkpoints()) == std::set<std::string>{".step-00000002.tmp-7-1"});
}

TEST_CASE("a signal ends a run that waits to create its folder") {
  const Scratch scratch;
  const auto plan = make_plan(scratch.path(), "digits");
  make_run_folder(plan, kStart);
  const support::FileDescriptor held = lock_run_folder(scratch / "digits");
  const std::atomic<int> stop = 15;
  const auto make = [&] { make_run_folder(plan, kStart, &stop); };
  CHECK(contains(find_error(support::kind_of_signal(15), make), "digits: stopped by signal 15 while the run waited"));
  CHECK(list_runs(scratch.path(), "digits").size() == 1);
}

TEST_CASE("times are parsed with their offset") {
  const auto start = std::chrono::time_point_cast<std::chrono::seconds>(kStart);
  CHECK(parse_iso_8601("2026-11-21T11:30:05+01:00") == start);
  CHECK(parse_iso_8601("2026-11-21T07:00:05-03:30") == start);
  for (const char* const wrong : {"", "2026-11-21", "2026-13-21T11:30:05+01:00", "2026-11-21T11:30:05 01:00"})
    CHECK(!parse_iso_8601(wrong));
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

TEST_CASE("a run has crashed if run.json has the status running and no process trains in the folder") {
  const Scratch scratch;
  const RunFolder run{scratch.path()};
  CHECK_FALSE(has_crashed(run.root));  // no run.json
  RunRecord record;
  record.status = RunStatus::running;
  write_run_record(run.record_file(), record);
  {
    const support::FileDescriptor held = lock_run_folder(run.root);
    CHECK_FALSE(has_crashed(run.root));
  }
  CHECK(has_crashed(run.root));
  record.status = RunStatus::failed;
  write_run_record(run.record_file(), record);
  CHECK_FALSE(has_crashed(run.root));
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
