// Trains each case of a PyTorch reference and compares the loss of every step and validation with it:
//
//   compare_history HOST RUN_FILES REFERENCE.json FOLDER
//
// RUN_FILES is the folder with NETWORK.toml, which a case overrides. FOLDER receives the run folders and is emptied
// first. Prints the largest relative difference of each case. The exit status is 0 if all are within their limits.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/parity/loss_history.h"

namespace tenon::parity {
namespace {

namespace fs = std::filesystem;

// Runs the command with its standard output redirected to the file `output`. Throws std::runtime_error if it fails.
void run(std::vector<std::string> command, const fs::path& output) {
  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  const int error = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error(command[0] + ": " + std::strerror(error));
  int status = 0;
  if (waitpid(child, &status, 0) != child) throw std::runtime_error("waitpid: " + std::string(std::strerror(errno)));
  if (WIFSIGNALED(status)) throw std::runtime_error(command[0] + ": signal " + std::to_string(WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0)
    throw std::runtime_error(command[0] + ": exit status " + std::to_string(WEXITSTATUS(status)));
}

fs::path find_history(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().filename() == "history.jsonl") found.push_back(entry.path());
  if (found.size() != 1)
    throw std::runtime_error(folder.string() + ": " + std::to_string(found.size()) +
                             " files history.jsonl; expected 1");
  return found.front();
}

bool compare(const std::string& host, const fs::path& run_files, const ReferenceRun& reference,
             const fs::path& folder) {
  fs::create_directories(folder);
  std::vector<std::string> command{host, "--config", (run_files / (reference.network + ".toml")).string()};
  for (const std::string& text : reference.overrides) command.insert(command.end(), {"--set", text});
  command.insert(command.end(), {"--set", "run.output_dir=\"" + fs::absolute(folder).string() + "\""});
  run(command, folder / "output.txt");

  const fs::path history = find_history(folder);
  const Difference difference = largest_difference(read_step_losses(history), reference.losses);
  std::vector<double> validations = read_validation_losses(history);
  validations.resize(reference.validation_losses.size());  // drops the final one, which is not at an epoch's end
  const Difference of_validation = largest_difference(validations, reference.validation_losses);
  const bool is_close = difference.relative < reference.limit && of_validation.relative < reference.limit;
  std::printf("%-22s loss %8.2g at step %3lld, validation loss %8.2g; the limit is %g%s\n", reference.name.c_str(),
              difference.relative, static_cast<long long>(difference.step), of_validation.relative, reference.limit,
              is_close ? "" : ": EXCEEDED");
  std::fflush(stdout);
  return is_close;
}

}  // namespace
}  // namespace tenon::parity

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: compare_history HOST RUN_FILES REFERENCE.json FOLDER\n");
    return 2;
  }
  try {
    const std::filesystem::path folder = argv[4];
    std::filesystem::remove_all(folder);
    bool are_close = true;
    for (const tenon::parity::ReferenceRun& reference : tenon::parity::read_reference_runs(argv[3]))
      are_close = tenon::parity::compare(argv[1], argv[2], reference, folder / reference.name) && are_close;
    return are_close ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "compare_history: %s\n", error.what());
    return 2;
  }
}
