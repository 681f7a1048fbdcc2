#include "framework/artifacts/run_folder/git_state.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <string_view>

#include "framework/artifacts/files/durable_file.h"
#include "framework/artifacts/run_folder/program_output.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/files/files.h"
#include "framework/support/files/read_file.h"
#include "framework/support/text/format_values.h"

namespace tenon::artifacts {

namespace {

constexpr std::chrono::milliseconds kTimeout{5000};
constexpr std::chrono::milliseconds kTimeoutOfChanges{2000};  // a run can do without them

std::optional<std::string> run_git(const std::filesystem::path& directory, const std::vector<std::string>& question,
                                   std::chrono::milliseconds timeout = kTimeout, size_t limit = size_t{64} << 10) {
  // core.fsmonitor may name a program of an untrusted repository.
  std::vector<std::string> command = {"git", "-c", "core.fsmonitor=false", "-C", directory.string()};
  command.insert(command.end(), question.begin(), question.end());
  // A library that is preloaded for the host may take longer to load than git runs.
  return read_program_output(command, {"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C", "LD_PRELOAD="},
                             timeout, limit);
}

std::optional<std::string> read_patch(const std::filesystem::path& top) {
  // The options override settings of the user that `git apply` does not understand.
  auto patch =
      run_git(top,
              {"diff", "HEAD", "--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv",
               "--unified=3", "--submodule=short", "--ignore-submodules=dirty", "--src-prefix=a/", "--dst-prefix=b/"},
              kTimeoutOfChanges, kMaxPatchBytes + 1);
  if (patch && patch->size() > kMaxPatchBytes) patch.reset();
  return patch;
}

std::optional<std::vector<std::string>> read_untracked(const std::filesystem::path& top) {
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
std::filesystem::path find_top(const std::filesystem::path& directory) {
  auto top = run_git(directory, {"rev-parse", "--show-toplevel"});
  if (!top) return {};
  if (top->ends_with('\n')) top->pop_back();
  return *top;
}

bool is_within(const std::filesystem::path& path, const std::filesystem::path& folder) {
  return std::ranges::mismatch(folder, path).in1 == folder.end();
}

// Returns the name of the file.
std::string write_patch(const std::filesystem::path& run_folder, const std::string& patch) {
  std::string name = "git.patch";
  for (int next = 2; support::path_exists(run_folder / name); ++next) {
    if (support::read_text(run_folder / name) == patch) return name;
    name = "git-" + std::to_string(next) + ".patch";
  }
  write_file_durably(run_folder / name, patch, support::ErrorKind::system);
  return name;
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

void keep_changes(GitState& state, const std::filesystem::path& directory, const std::filesystem::path& run_folder,
                  const std::filesystem::path& output_dir) {
  const std::filesystem::path top = find_top(directory);
  if (top.empty()) return;
  state.untracked = read_untracked(top);
  if (state.untracked) {
    const std::filesystem::path output = support::find_canonical_or_absolute(output_dir);
    std::erase_if(*state.untracked, [&](const std::string& name) {
      const std::filesystem::path path = top / std::string_view(name).substr(0, name.find_last_not_of('/') + 1);
      return is_within(path, output);
    });
  }
  if (state.dirty != true) return;
  const auto patch = read_patch(top);
  if (!patch)
    return support::log_warning("the uncommitted changes in " + top.string() +
                                " are not kept with the run: `git diff HEAD --binary` took more than " +
                                std::to_string(kTimeoutOfChanges.count() / 1000) + " s or printed more than " +
                                support::format_bytes(kMaxPatchBytes) +
                                "; commit large files, or list them in .gitignore");
  if (patch->empty()) return;  // only within submodules
  try {
    state.patch = write_patch(run_folder, *patch);
  } catch (const support::Error& error) {
    support::log_warning(std::string(error.what()) + ". The run continues without this file");
  }
}

}  // namespace tenon::artifacts
