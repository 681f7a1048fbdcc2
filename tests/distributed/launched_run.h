// Runs launched_program and reads its results.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tenon::distributed {

struct LaunchedOutcome {
  int exit_code;  // 128 + n after signal n, as a shell counts
  std::string output;
  std::string errors;
};

// A run in a new working directory and a new process group. Its outputs are files in that directory.
class LaunchedRun {
 public:
  // `ranks`: "1=exit:4", see launched_program.cpp. `variables`: they override the environment of this process.
  explicit LaunchedRun(int processes, const std::vector<std::string>& ranks, double patience_s = 60,
                       const std::map<std::string, std::string>& variables = {});
  ~LaunchedRun();  // kills the remaining processes
  LaunchedRun(const LaunchedRun&) = delete;
  LaunchedRun& operator=(const LaunchedRun&) = delete;

  pid_t pid() const { return pid_; }
  const std::filesystem::path& folder() const { return folder_; }

  // Waits for the file. Fails the test after half a minute.
  void await_file(const std::string& name) const;
  // Waits until all ranks handle signals.
  void await_ready() const;

  bool has_ended() const;

  LaunchedOutcome finish();

  // Waits until no rank is running. Returns false after half a minute.
  bool are_all_ranks_gone() const;

 private:
  int processes_;
  std::filesystem::path folder_;
  pid_t pid_ = -1;
  bool is_finished_ = false;
};

// Runs launched_program until it ends.
LaunchedOutcome launch(int processes, const std::vector<std::string>& ranks, double patience_s = 60,
                       const std::map<std::string, std::string>& variables = {});

// Waits for the file. Returns false after half a minute.
bool await_path(const std::filesystem::path& file);

std::string read_text(const std::filesystem::path& file);

}  // namespace tenon::distributed
