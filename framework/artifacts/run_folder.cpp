#include "framework/artifacts/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <compare>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "framework/artifacts/durable_file.h"
#include "framework/artifacts/durable_folder.h"
#include "framework/artifacts/file_error.h"
#include "framework/artifacts/local_time.h"
#include "framework/config/print_run_plan.h"
#include "framework/support/retry_interrupted.h"

namespace tenon::artifacts {

namespace {

constexpr auto kOfFolders = support::ErrorKind::configuration;

void check_name(const std::string& name) {
  if (!name.empty() && name != "." && name != ".." &&
      name.find_first_of(std::string_view("/\0", 2)) == std::string::npos) {
    return;
  }
  throw support::Error(kOfFolders, "run.name is \"" + name + "\"; expected a folder name without slashes");
}

// The name of a run folder: the time of its start, and its number among the runs with this time.
struct RunName {
  std::string time;
  int number;

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
  int number = 1;
  if (name.size() > kForm.size()) {
    if (name[kForm.size()] != '-') return std::nullopt;
    const char* end = name.data() + name.size();
    const auto result = std::from_chars(name.data() + kForm.size() + 1, end, number);
    if (result.ec != std::errc() || result.ptr != end || number < 2) return std::nullopt;
  }
  return RunName{name.substr(0, kForm.size()), number};
}

std::vector<std::pair<RunName, std::filesystem::path>> find_runs(const std::filesystem::path& parent) {
  std::vector<std::pair<RunName, std::filesystem::path>> runs;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(parent, error), end; !error && entry != end; entry.increment(error))
    if (auto name = parse_run_name(entry->path().filename().string()))
      runs.emplace_back(std::move(*name), entry->path());
  if (error && error != std::errc::no_such_file_or_directory)
    throw make_file_error(support::ErrorKind::checkpoint, parent, "cannot be listed", error.value());
  std::ranges::sort(runs, std::greater());
  return runs;
}

// Creates the folder of a run that starts now. Its name follows those of all earlier runs, also if the clock was ahead
// then or the hour occurs twice at the end of summer time.
std::filesystem::path make_unique_folder(const std::filesystem::path& parent, std::string time) {
  // The lock keeps the order of two runs that start at once. On a file system without locks, mkdir() still separates
  // them.
  const support::FileDescriptor lock(
      support::retry_interrupted([&] { return ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (lock.is_open()) support::retry_interrupted([&] { return ::flock(lock.number(), LOCK_EX); });
  RunName name{std::move(time), 1};
  if (const auto runs = find_runs(parent); !runs.empty() && runs.front().first >= name)
    name = {runs.front().first.time, runs.front().first.number + 1};
  for (;; ++name.number) {
    const auto folder = parent / (name.time + (name.number > 1 ? "-" + std::to_string(name.number) : ""));
    if (support::retry_interrupted([&] { return ::mkdir(folder.c_str(), 0777); }) == 0) {
      sync_path(parent, kOfFolders);
      return folder;
    }
    if (errno != EEXIST) throw make_file_error(kOfFolders, folder, "cannot be created", errno);
  }
}

}  // namespace

RunFolder make_run_folder(const config::RunPlan& plan, std::chrono::system_clock::time_point start) {
  check_name(plan.run.name);
  const auto parent = plan.run.output_dir / plan.run.name;
  make_folders_durably(parent, kOfFolders);
  const RunFolder folder{make_unique_folder(parent, print_time_for_names(start))};
  make_folders_durably(folder.checkpoints(), kOfFolders);
  write_plan(folder, plan);
  return folder;
}

std::vector<std::filesystem::path> list_runs(const std::filesystem::path& output_dir, const std::string& name) {
  std::vector<std::filesystem::path> folders;
  for (auto& [run, folder] : find_runs(output_dir / name)) folders.push_back(std::move(folder));
  return folders;
}

void write_plan(const RunFolder& folder, const config::RunPlan& plan) {
  write_file_durably(folder.plan_file(), config::print_run_plan(plan), kOfFolders);
}

// Locks the folder itself. That needs no further file, and the end of the process always releases the lock.
// is_run_folder_held() holds the lock for a moment.
support::FileDescriptor lock_run_folder(const std::filesystem::path& root) {
  constexpr auto kCheckpoint = support::ErrorKind::checkpoint;
  constexpr int kAttempts = 10;
  support::FileDescriptor folder(
      support::retry_interrupted([&] { return ::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!folder.is_open()) throw make_file_error(kCheckpoint, root, "cannot be opened", errno);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (support::retry_interrupted([&] { return ::flock(folder.number(), LOCK_EX | LOCK_NB); }) == 0) return folder;
    if (errno != EWOULDBLOCK) throw make_file_error(kCheckpoint, root, "cannot be locked", errno);
  }
  throw support::Error(kCheckpoint, root.string() +
                                        ": another process is training in this folder; wait until it ends, stop "
                                        "it, or start a new run");
}

bool is_run_folder_held(const std::filesystem::path& root) {
  const support::FileDescriptor folder(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return folder.is_open() && ::flock(folder.number(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace tenon::artifacts
