// Runs hosts with the stand-in for CUDA, and compares their results.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/end_to_end/hosted_run.h"

namespace tenon::cuda_standin {

using end_to_end::check_errors;
using end_to_end::joined;
using end_to_end::Outcome;
using end_to_end::require_success;
using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

// A small network on the digits: 12 steps in two epochs, three checkpoints and two validations.
std::filesystem::path write_run_file();

// Runs `host` with the stand-in and these environment variables. A process that has loaded LibTorch forks for each run.
// Fails the test case if the stand-in reports a fault.
Outcome run_with_standin(const Words& arguments, const Variables& variables = {});

struct Run {
  std::string name;     // of its folder
  Words settings;       // for --set
  Words arguments;      // further arguments
  Variables variables;  // of the environment
  std::string device = "cuda";
};

// The command for the run file, with the settings of the run. `command`: "evaluate" and so on; empty: a training run.
Words arguments_of(const Run& run, const std::string& command = "");

// Runs the command of the run. The output folder keeps what earlier runs of this name wrote.
Outcome start(const Run& run, const std::string& command = "");

// Removes the folder of the run, trains, and requires success. Returns the run folder.
std::filesystem::path train(const Run& run);

// The newest folder of a run, and a file in its newest checkpoint.
std::filesystem::path folder_of(const std::string& name);
std::string read_weights(const std::filesystem::path& run_folder);

// The run with `settings` on the device must end with the same weights and metrics as on the CPU, up to this relative
// difference. Returns the folder of the run on the device.
//
// The limit: each sum of a step, of at most 64 features and 48 samples, rounds by up to 112 * 2^-24 = 7e-6 of its
// terms. In 12 steps with a learning rate at which the loss falls smoothly such errors add up to less than 12 times
// that.
constexpr double kLimit = 1e-4;
std::filesystem::path check_same_as_on_cpu(Run run, double limit = kLimit);

// The Frobenius norm of the difference between the weights of two runs, relative to that of the weights.
double distance(const std::filesystem::path& run_folder, const std::filesystem::path& other);

}  // namespace tenon::cuda_standin
