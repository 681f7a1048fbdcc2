// Trains by a run file and holds the loss of every step against a reference made with PyTorch:
//
//   compare_history HOST RUN.toml REFERENCE.json FOLDER
//
// FOLDER, which is emptied first, receives the run's folder. Prints the largest relative difference; the exit status is
// 0 if it is below the limit.
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/parity/loss_history.h"

extern char** environ;

namespace tenon::parity {
namespace {

namespace fs = std::filesystem;

constexpr double kLargestRelativeDifference = 1e-5;

void run(std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawn(&child, arguments[0], nullptr, nullptr, arguments.data(), environ);
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

bool compare(const std::string& host, const std::string& config, const fs::path& reference, const fs::path& folder) {
  fs::remove_all(folder);
  fs::create_directories(folder);
  run({host, "--config", config, "--set", "run.output_dir=\"" + fs::absolute(folder).string() + "\""});
  const Difference difference =
      largest_difference(read_step_losses(find_history(folder)), read_reference_losses(reference));
  const bool close = difference.relative < kLargestRelativeDifference;
  std::printf("largest relative difference of a loss: %.3g, at step %lld; the limit is %.3g: %s\n", difference.relative,
              static_cast<long long>(difference.step), kLargestRelativeDifference, close ? "within it" : "BEYOND IT");
  return close;
}

}  // namespace
}  // namespace tenon::parity

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: compare_history HOST RUN.toml REFERENCE.json FOLDER\n");
    return 2;
  }
  try {
    return tenon::parity::compare(argv[1], argv[2], argv[3], argv[4]) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "compare_history: %s\n", error.what());
    return 2;
  }
}
