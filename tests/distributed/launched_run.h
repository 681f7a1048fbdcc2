// Runs launched_program and looks at what is left of it.
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

// Its working directory is an empty one of its own, its group too, and its outputs are files there.
class LaunchedRun {
 public:
  // `ranks`: "1=exit:4", see launched_program.cpp. `variables`: of the environment, over this process's.
  explicit LaunchedRun(int processes, const std::vector<std::string>& ranks, double patience_s = 60,
                       const std::map<std::string, std::string>& variables = {});
  ~LaunchedRun();  // ends what is left
  LaunchedRun(const LaunchedRun&) = delete;
  LaunchedRun& operator=(const LaunchedRun&) = delete;

  pid_t pid() const { return pid_; }
  const std::filesystem::path& folder() const { return folder_; }

  // Until the file is there, or for half a minute; then the test fails.
  void await_file(const std::string& name) const;
  // Until all ranks are ready to be sent signals.
  void await_ready() const;

  bool has_ended() const;

  LaunchedOutcome finish();

  // Until no rank runs any longer; false where one does after half a minute.
  bool are_all_ranks_gone() const;

 private:
  int processes_;
  std::filesystem::path folder_;
  pid_t pid_ = -1;
  bool is_finished_ = false;
};

// All of it in one.
LaunchedOutcome launch(int processes, const std::vector<std::string>& ranks, double patience_s = 60,
                       const std::map<std::string, std::string>& variables = {});

// Until the file is there; false where it is not after half a minute.
bool await_path(const std::filesystem::path& file);

std::string read_text(const std::filesystem::path& file);

}  // namespace tenon::distributed
