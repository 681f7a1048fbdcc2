#include "framework/artifacts/run_folder/git_state.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <thread>

#include "framework/artifacts/files/durable_file.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/files/file_descriptor.h"
#include "framework/support/files/files.h"
#include "framework/support/files/read_file.h"
#include "framework/support/text/format.h"
#include "framework/support/text/format_values.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::milliseconds kTimeout{5000};
constexpr std::chrono::milliseconds kTimeoutOfChanges{2000};  // a run can do without them

std::optional<std::string> run_git(const fs::path& directory, const std::vector<std::string>& question,
                                   std::chrono::milliseconds timeout = kTimeout, size_t limit = size_t{64} << 10) {
  // core.fsmonitor may name a program of an untrusted repository.
  std::vector<std::string> command = {"git", "-c", "core.fsmonitor=false", "-C", directory.string()};
  command.insert(command.end(), question.begin(), question.end());
  // A library that is preloaded for the host may take longer to load than git runs.
  return read_program_output(command, {"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C", "LD_PRELOAD="},
                             timeout, limit);
}

std::optional<std::string> read_patch(const fs::path& top) {
  // The options override settings of the user that `git apply` does not understand.
  auto patch =
      run_git(top,
              {"diff", "HEAD", "--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv",
               "--unified=3", "--submodule=short", "--ignore-submodules=dirty", "--src-prefix=a/", "--dst-prefix=b/"},
              kTimeoutOfChanges, kMaxPatchBytes + 1);
  if (patch && patch->size() > kMaxPatchBytes) patch.reset();
  return patch;
}

std::optional<std::vector<std::string>> read_untracked(const fs::path& top) {
  // A folder of data is not listed file by file.
  const auto list =
      run_git(top, {"ls-files", "-z", "--others", "--exclude-standard", "--directory", "--no-empty-directory"},
              kTimeoutOfChanges);
  if (!list) return std::nullopt;
  std::vector<std::string> names;
  for (size_t begin = 0; names.size() < kMaxUntracked;) {
    const size_t end = list->find('\0', begin);
    if (end == std::string::npos) break;  // the end, or a name that the limit cut off
    names.push_back(list->substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

// The folder of the repository, without a slash at its end. Empty: none.
fs::path find_top(const fs::path& directory) {
  auto top = run_git(directory, {"rev-parse", "--show-toplevel"});
  if (!top) return {};
  if (top->ends_with('\n')) top->pop_back();
  return *top;
}

bool is_within(const fs::path& path, const fs::path& folder) {
  return std::ranges::mismatch(folder, path).in1 == folder.end();
}

// Returns the name of the file.
std::string write_patch(const fs::path& run_folder, const std::string& patch) {
  std::string name = "git.patch";
  for (int next = 2; support::path_exists(run_folder / name); ++next) {
    if (support::read_text(run_folder / name) == patch) return name;
    name = fmt::format("git-{}.patch", next);
  }
  write_file_durably(run_folder / name, patch, support::ErrorKind::system);
  return name;
}

using Clock = std::chrono::steady_clock;

std::vector<std::string> make_environment(const std::vector<std::string>& settings) {
  std::vector<std::string> environment = settings;
  for (char** variable = ::environ; variable && *variable; ++variable) {
    const std::string_view text = *variable;
    const auto name = text.substr(0, text.find('=') + 1);
    if (std::ranges::none_of(settings, [&](const auto& setting) { return setting.starts_with(name); }))
      environment.emplace_back(text);
  }
  return environment;
}

std::vector<char*> make_pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const auto& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Returns the process, or -1. It gets a new process group, so that its child processes can be killed with it. It also
// gets default signal handling, because the host may have blocked or ignored signals.
pid_t start_program(const std::vector<std::string>& command, const std::vector<std::string>& settings, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  if (::posix_spawn_file_actions_init(&actions) != 0) return -1;
  if (::posix_spawnattr_init(&attributes) != 0) {
    ::posix_spawn_file_actions_destroy(&actions);
    return -1;
  }
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  sigset_t signals;
  ::sigemptyset(&signals);
  ::posix_spawnattr_setsigmask(&attributes, &signals);
  ::sigfillset(&signals);
  ::posix_spawnattr_setsigdefault(&attributes, &signals);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const auto environment = make_environment(settings);
  pid_t process = -1;
  const int error = ::posix_spawnp(&process, command[0].c_str(), &actions, &attributes, make_pointers(command).data(),
                                   make_pointers(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? process : -1;
}

// Reads to the end of the output. False on a timeout. Output beyond the limit is read and discarded, so that the
// program does not block.
bool read_until(Clock::time_point deadline, int input, size_t limit, std::string& text) {
  std::array<char, size_t{16} << 10> piece;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd wait{input, POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t count = support::retry_interrupted([&] { return ::read(input, piece.data(), piece.size()); });
    if (count <= 0) return count == 0;
    text.append(piece.data(), std::min<size_t>(static_cast<size_t>(count), limit - text.size()));
  }
}

// Returns true if the process exited with status 0 before the deadline. Otherwise it is killed. It is always reaped.
bool end_well(pid_t process, Clock::time_point deadline) {
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(process, &status, WNOHANG);
    if (ended == process) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (ended < 0 && errno != EINTR) return false;
    if (Clock::now() >= deadline) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ::kill(-process, SIGKILL);
  support::retry_interrupted([&] { return ::waitpid(process, &status, 0); });
  return false;
}

}  // namespace

std::optional<GitState> read_git_state(const fs::path& directory) {
  const auto commit = run_git(directory, {"rev-parse", "--verify", "--quiet", "HEAD"});
  if (!commit) return std::nullopt;
  GitState state;
  state.commit = commit->substr(0, commit->find_first_not_of("0123456789abcdefABCDEF"));
  if (state.commit.size() < 40) return std::nullopt;
  if (const auto changes = run_git(directory, {"status", "--porcelain", "--untracked-files=no"}))
    state.dirty = !changes->empty();
  return state;
}

void keep_changes(GitState& state, const fs::path& directory, const fs::path& run_folder, const fs::path& output_dir) {
  const fs::path top = find_top(directory);
  if (top.empty()) return;
  state.untracked = read_untracked(top);
  if (state.untracked) {
    const fs::path output = support::find_canonical_or_absolute(output_dir);
    std::erase_if(*state.untracked, [&](const std::string& name) {
      const fs::path path = top / std::string_view(name).substr(0, name.find_last_not_of('/') + 1);
      return is_within(path, output);
    });
  }
  if (state.dirty != true) return;
  const auto patch = read_patch(top);
  if (!patch)
    return support::log_warning(
        "the uncommitted changes in {} are not kept with the run: `git diff HEAD --binary` took more than {} s or "
        "printed more than {}; commit large files, or list them in .gitignore",
        top.string(), kTimeoutOfChanges.count() / 1000, support::format_bytes(kMaxPatchBytes));
  if (patch->empty()) return;  // only within submodules
  try {
    state.patch = write_patch(run_folder, *patch);
  } catch (const support::Error& error) {
    support::log_warning("{}. The run continues without this file", error.what());
  }
}

std::optional<std::string> read_program_output(const std::vector<std::string>& command,
                                               const std::vector<std::string>& settings,
                                               std::chrono::milliseconds timeout, size_t limit) {
  const auto deadline = Clock::now() + timeout;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  const support::FileDescriptor input(ends[0]);
  support::FileDescriptor output(ends[1]);
  const pid_t process = start_program(command, settings, output.number());
  output.close();
  if (process < 0) return std::nullopt;
  std::string text;
  const bool is_complete = read_until(deadline, input.number(), limit, text);
  const bool is_good = end_well(process, is_complete ? deadline : Clock::now());
  return is_complete && is_good ? std::optional(text) : std::nullopt;
}

}  // namespace tenon::artifacts
