#include "framework/artifacts/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "framework/artifacts/durable_file.h"
#include "framework/artifacts/durable_folder.h"
#include "framework/artifacts/file_error.h"
#include "framework/artifacts/local_time.h"
#include "framework/config/print_run_plan.h"

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

std::filesystem::path make_unique_folder(const std::filesystem::path& preferred) {
  auto folder = preferred;
  for (int number = 2; ::mkdir(folder.c_str(), 0777) != 0; ++number) {
    if (errno != EEXIST) throw make_file_error(kOfFolders, folder, "cannot be created", errno);
    folder = preferred;
    folder += "-" + std::to_string(number);
  }
  sync_path(find_folder_of(folder), kOfFolders);
  return folder;
}

}  // namespace

RunFolder make_run_folder(const config::RunPlan& plan, std::chrono::system_clock::time_point start) {
  check_name(plan.run.name);
  const auto parent = plan.run.output_dir / plan.run.name;
  make_folders_durably(parent, kOfFolders);
  const RunFolder folder{make_unique_folder(parent / print_time_for_names(start))};
  make_folders_durably(folder.checkpoints(), kOfFolders);
  write_plan(folder, plan);
  return folder;
}

void write_plan(const RunFolder& folder, const config::RunPlan& plan) {
  write_file_durably(folder.plan_file(), config::print_run_plan(plan), kOfFolders);
}

// Locks the folder itself. That needs no further file, and the end of the process always releases the lock.
// is_run_folder_held() holds the lock for a moment.
support::FileDescriptor lock_run_folder(const std::filesystem::path& root) {
  constexpr auto kCheckpoint = support::ErrorKind::checkpoint;
  constexpr int kAttempts = 10;
  support::FileDescriptor folder(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) throw make_file_error(kCheckpoint, root, "cannot be opened", errno);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (::flock(folder.number(), LOCK_EX | LOCK_NB) == 0) return folder;
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
