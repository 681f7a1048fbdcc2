#include "framework/artifacts/run_folder/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <compare>
#include <cstdio>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "framework/artifacts/files/durable_file.h"
#include "framework/artifacts/run_folder/run_record.h"
#include "framework/config/file/format_run_plan.h"
#include "framework/formats/strings.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/files/files.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;

namespace {

constexpr auto kOfFolders = support::ErrorKind::configuration;

void check_name(const std::string& name) {
  if (name.empty() || name == "." || name == ".." ||
      name.find_first_of(std::string_view("/\0", 2)) != std::string::npos)
    throw support::Error(kOfFolders, "run.name is \"{}\"; expected a folder name without slashes", name);
}

// The name of a run folder: the time of its start, and its number among the runs with this time.
struct RunName {
  std::string time;
  int64_t number;

  auto operator<=>(const RunName&) const = default;
};

// Parses "2026-11-21T11-30-05-2". None for any other name.
std::optional<RunName> parse_run_name(const std::string& name) {
  constexpr std::string_view kForm = "0000-00-00T00-00-00";
  if (name.size() < kForm.size()) return std::nullopt;
  for (size_t i = 0; i < kForm.size(); ++i) {
    const bool is_digit = name[i] >= '0' && name[i] <= '9';
    if (kForm[i] == '0' ? !is_digit : name[i] != kForm[i]) return std::nullopt;
  }
  constexpr int64_t kLargestNumber = 1'000'000'000;
  if (name.size() == kForm.size()) return RunName{name, 1};
  const auto number = formats::parse_number<int64_t>(name.substr(kForm.size() + 1));
  if (name[kForm.size()] != '-' || !number || *number < 2 || *number > kLargestNumber) return std::nullopt;
  return RunName{name.substr(0, kForm.size()), *number};
}

std::vector<std::pair<RunName, fs::path>> find_runs(const fs::path& parent) {
  std::vector<std::pair<RunName, fs::path>> runs;
  std::error_code error;
  for (const fs::path& path : support::list_folder(parent, error))
    if (auto name = parse_run_name(path.filename().string())) runs.emplace_back(std::move(*name), path);
  if (error && error != std::errc::no_such_file_or_directory)
    throw make_file_error(support::ErrorKind::checkpoint, parent, "cannot be listed", error.value());
  std::ranges::sort(runs, std::greater());
  return runs;
}

support::FileDescriptor open_folder(const fs::path& folder) {
  return support::FileDescriptor(
      support::retry_interrupted([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
}

// Returns 0 or an errno: EWOULDBLOCK if another process has the lock.
int try_lock(const support::FileDescriptor& folder) {
  return support::retry_interrupted([&] { return ::flock(folder.number(), LOCK_EX | LOCK_NB); }) == 0 ? 0 : errno;
}

// The lock keeps the order of two runs that start at once. On a file system without locks, mkdir() still separates
// them.
support::FileDescriptor lock_names(const fs::path& parent, const std::atomic<int>* stop) {
  constexpr int kReported = 50;  // attempts before the wait is reported
  support::FileDescriptor lock = open_folder(parent);
  for (int attempt = 0; lock.is_open() && try_lock(lock) == EWOULDBLOCK; ++attempt) {
    if (const int signal = stop ? stop->load() : 0; signal != 0)
      throw support::Error(support::kind_of_signal(signal),
                           "{}: stopped by signal {} while the run waited for a lock on this folder; no run folder was "
                           "created",
                           parent.string(), signal);
    if (attempt == kReported)
      support::log_warning(
          "{}: waiting for the process that has locked this folder, which a run does for a moment when it starts; to "
          "continue, end that process (fuser -v shows it), or choose another run.name",
          parent.string());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return lock;
}

// Creates the folder of a run that starts now. Its name follows those of all earlier runs, also if the clock was ahead
// then or the hour occurs twice at the end of summer time. REQUIRES: lock_names().
fs::path make_unique_folder(const fs::path& parent, std::string time) {
  constexpr int kAttempts = 1000;
  RunName name{std::move(time), 1};
  if (const auto runs = find_runs(parent); !runs.empty() && runs.front().first >= name)
    name = {runs.front().first.time, runs.front().first.number + 1};
  for (int attempt = 1;; ++attempt, ++name.number) {
    const auto folder = parent / (name.time + (name.number > 1 ? "-" + std::to_string(name.number) : ""));
    if (support::retry_interrupted([&] { return ::mkdir(folder.c_str(), 0777); }) == 0) return folder;
    if (errno != EEXIST || attempt == kAttempts) throw make_file_error(kOfFolders, folder, "cannot be created", errno);
  }
}

// sync_start() syncs it. An existing folder is not an error.
void make_unsynced_folder(const fs::path& folder) {
  if (support::retry_interrupted([&] { return ::mkdir(folder.c_str(), 0777); }) == 0) return;
  const int error = errno;
  if (error != EEXIST || !support::is_folder(folder))
    throw make_file_error(kOfFolders, folder, "cannot be created", error == EEXIST ? ENOTDIR : error);
}

// Removes temporary files of killed processes. Other processes, such as `host report`, may write to the folder at this
// moment, so files of the last hour stay. A file that cannot be removed is harmless.
void remove_old_leftovers(const fs::path& folder) {
  const auto limit = fs::file_time_type::clock::now() - std::chrono::hours(1);
  std::error_code error;
  for (const fs::path& path : support::list_folder(folder, error)) {
    if (!is_temporary_name(path.filename().string())) continue;
    std::error_code ignored;
    const auto written = fs::last_write_time(path, ignored);
    if (!ignored && written < limit) fs::remove_all(path, ignored);
  }
}

// Skips a run that is running, because its process has locked the folder.
void remove_leftovers_of_runs(const fs::path& parent) {
  remove_old_leftovers(parent);  // runs that `host prune` could not remove completely
  for (const auto& [name, root] : find_runs(parent)) {
    const support::FileDescriptor lock = open_folder(root);
    if (!lock.is_open() || try_lock(lock) != 0) continue;
    remove_old_leftovers(root);
    remove_old_leftovers(RunFolder{root}.checkpoints());
  }
}

}  // namespace

RunFolder make_run_folder(const config::RunPlan& plan, std::chrono::system_clock::time_point start,
                          const std::atomic<int>* stop) {
  check_name(plan.run.name);
  const auto parent = plan.run.output_dir / plan.run.name;
  const fs::path& runs = plan.run.output_dir;
  if (!runs.empty() && !support::path_exists(runs)) make_folders_durably(parent, kOfFolders);
  make_unsynced_folder(parent);
  const support::FileDescriptor lock = lock_names(parent, stop);
  remove_leftovers_of_runs(parent);
  const RunFolder folder{make_unique_folder(parent, format_time_for_names(start))};
  make_unsynced_folder(folder.checkpoints());
  write_unsynced(folder.plan_file(), config::format_run_plan(plan), kOfFolders);
  return folder;
}

bool is_earlier_run(const fs::path& a, const fs::path& b) {
  return parse_run_name(a.filename().string()) < parse_run_name(b.filename().string());
}

std::vector<fs::path> list_runs(const fs::path& output_dir, const std::string& name) {
  std::vector<fs::path> folders;
  for (auto& [run, folder] : find_runs(output_dir / name)) folders.push_back(std::move(folder));
  return folders;
}

void write_plan(const RunFolder& folder, const config::RunPlan& plan) {
  write_file_durably(folder.plan_file(), config::format_run_plan(plan), kOfFolders);
}

// Locks the folder itself. That needs no further file, and the end of the process always releases the lock.
// is_run_folder_held() holds the lock for a moment.
support::FileDescriptor lock_run_folder(const fs::path& root) {
  constexpr auto kCheckpoint = support::ErrorKind::checkpoint;
  constexpr int kAttempts = 10;
  support::FileDescriptor folder = open_folder(root);
  if (!folder.is_open()) throw make_file_error(kCheckpoint, root, "cannot be opened", errno);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const int error = try_lock(folder);
    if (error == 0) return folder;
    if (error != EWOULDBLOCK) throw make_file_error(kCheckpoint, root, "cannot be locked", error);
  }
  throw support::Error(
      kCheckpoint, "{}: another process is training in this folder; wait until it ends, stop it, or start a new run",
      root.string());
}

bool is_run_folder_held(const fs::path& root) {
  const support::FileDescriptor folder = open_folder(root);
  return folder.is_open() &&
         support::retry_interrupted([&] { return ::flock(folder.number(), LOCK_SH | LOCK_NB); }) != 0 &&
         errno == EWOULDBLOCK;
}

void write_unsynced(const fs::path& path, std::string_view text, support::ErrorKind kind) {
  const fs::path temporary = make_temporary_path(path);
  write_file_durably(temporary, text, kind, SyncedBy::containing_folder);
  if (support::retry_interrupted([&] { return ::rename(temporary.c_str(), path.c_str()); }) == 0) return;
  const int error = errno;
  ::unlink(temporary.c_str());
  throw make_file_error(kind, path, "cannot be renamed to its final name", error);
}

void sync_start(const RunFolder& folder) {
  const fs::path runs = find_folder_of(folder.root);
  for (const fs::path& path : {folder.plan_file(), folder.record_file(), folder.root, runs, find_folder_of(runs)})
    sync_path(path, support::ErrorKind::system);
}

}  // namespace tenon::artifacts
