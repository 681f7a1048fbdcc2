#include "framework/artifacts/run_folder/git_state.h"

#include <cctype>
#include <chrono>
#include <vector>

#include "framework/artifacts/run_folder/program_output.h"

namespace tenon::artifacts {

namespace {

constexpr std::chrono::milliseconds kTimeout{5000};

std::optional<std::string> run_git(const std::filesystem::path& directory, const std::vector<std::string>& question) {
  // core.fsmonitor may name a program of an untrusted repository.
  std::vector<std::string> command = {"git", "-c", "core.fsmonitor=false", "-C", directory.string()};
  command.insert(command.end(), question.begin(), question.end());
  return read_program_output(command, {"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"}, kTimeout);
}

}  // namespace

std::optional<GitState> read_git_state(const std::filesystem::path& directory) {
  const auto commit = run_git(directory, {"rev-parse", "--verify", "--quiet", "HEAD"});
  if (!commit) return std::nullopt;
  GitState state;
  for (const char c : *commit) {
    if (!std::isxdigit(static_cast<unsigned char>(c))) break;
    state.commit += c;
  }
  if (state.commit.size() < 40) return std::nullopt;
  const auto changes = run_git(directory, {"status", "--porcelain", "--untracked-files=no"});
  if (changes) state.dirty = !changes->empty();
  return state;
}

}  // namespace tenon::artifacts
