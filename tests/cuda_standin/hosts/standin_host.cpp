#include "tests/cuda_standin/hosts/standin_host.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <tenon/abi.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "tests/host_server/protocol.h"
#include "tests/test_folder.h"

namespace tenon::cuda_standin {

namespace fs = std::filesystem;
using namespace end_to_end;

namespace {

constexpr const char* kRunFile = R"([run]
deterministic = true
threads = 1
[model]
use = "mlp"
params = { hidden = [16] }
[data]
batch_size = 48
workers = 1
[data.train]
use = "digits"
subset = "20%"
[data.validation]
use = "digits"
params = { split = "test" }
[[loss]]
use = "cross_entropy"
[[metric]]
use = "accuracy"
[train]
epochs = 2
[validation]
every = "6 steps"
[checkpoint]
every = "4 steps"
[log]
every = "2 steps"
tensorboard = false
[optimizer]
use = "sgd"
lr = 0.5
momentum = 0.5
)";

// tests/host_server with the stand-in. It ends with this process.
class Server final {
 public:
  Server() {
    std::string folder = (fs::temp_directory_path() / "tenon-standin-XXXXXX").string();
    REQUIRE(mkdtemp(folder.data()));
    folder_ = folder;
    process_ = fork();
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      setenv("LD_PRELOAD", TENON_BINARY_DIR "/tests/bin/host_server.so:" STANDIN, 1);
      setenv("TENON_SERVE_HOSTS", socket().c_str(), 1);
      setenv("OMP_WAIT_POLICY", "passive", 1);  // concurrent tests share the cores
      execl(TENON_BINARY_DIR "/bin/host", "host", nullptr);
      _exit(127);
    }
    for (int connection = -1; connection < 0; connection = host_server::connect_to(socket().c_str())) {
      REQUIRE(waitpid(process_, nullptr, WNOHANG) == 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    fs::remove_all(folder_);
  }

  std::string socket() const { return (folder_ / "socket").string(); }

 private:
  fs::path folder_;
  pid_t process_ = 0;
};

// Sets environment variables for a scope.
class WithVariables final {
 public:
  explicit WithVariables(const Variables& variables) {
    for (const auto& [name, value] : variables) {
      const char* const before = std::getenv(name.c_str());
      before_.emplace_back(name, before ? std::optional<std::string>(before) : std::nullopt);
      setenv(name.c_str(), value.c_str(), 1);
    }
  }
  WithVariables(const WithVariables&) = delete;
  WithVariables& operator=(const WithVariables&) = delete;
  ~WithVariables() {
    for (const auto& [name, value] : before_) value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
  }

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

// The metrics of each line of the history.
std::vector<std::map<std::string, double>> read_metrics(const fs::path& run_folder) {
  std::vector<std::map<std::string, double>> lines;
  for (const std::string& line : parts_of(read_history_without_times(run_folder), '\n')) {
    auto& metrics = lines.emplace_back();
    const auto parsed = nlohmann::json::parse(line);
    for (const auto& [name, value] : parsed.items())
      if (value.is_number() && name != "train/device_memory_mib") metrics[name] = value.get<double>();
  }
  return lines;
}

std::map<std::string, std::vector<float>> read_tensors(const fs::path& run_folder) {
  std::map<std::string, std::vector<float>> tensors;
  for (const fs::directory_entry& entry : fs::directory_iterator(run_folder / "checkpoints/latest")) {
    const fs::path& file = entry.path();
    if (file.extension() != ".safetensors" || !file.filename().string().starts_with("model")) continue;
    const artifacts::SafetensorsFile opened(file);
    for (const artifacts::TensorView& view : opened.tensors()) {
      if (view.dtype != TENON_FLOAT32) continue;
      std::vector<float>& values = tensors[view.name];
      values.resize(view.bytes / sizeof(float));
      std::memcpy(values.data(), view.data, view.bytes);
    }
  }
  return tensors;
}

}  // namespace

fs::path write_run_file() { return write_file(test_folder() / "run.toml", kRunFile); }

Outcome run_with_standin(const Words& arguments, const Variables& variables) {
  static const Server server;
  Variables all = variables;
  all["TENON_HOST_SERVER"] = server.socket();
  all["LD_PRELOAD"] = STANDIN;  // for processes that the host starts
  all["PATH"] = "/none";        // the host starts git, which would load the stand-in
  const WithVariables set(all);
  const Outcome outcome = run_host(arguments);
  CHECK_MESSAGE(outcome.errors.find("CUDA stand-in: ") == std::string::npos, outcome.errors);
  return outcome;
}

Words arguments_of(const Run& run, const std::string& command) {
  Words words;
  if (!command.empty()) words.push_back(command);
  words.insert(words.end(), {"--config", write_run_file().string()});
  const Words settings{"run.device=\"" + run.device + "\"", "run.name=\"" + run.name + "\"",
                       "run.output_dir=\"" + (test_folder() / "runs").string() + "\""};
  for (const std::string& setting : joined(settings, run.settings)) words.insert(words.end(), {"--set", setting});
  return joined(words, run.arguments);
}

Outcome start(const Run& run, const std::string& command) {
  return run_with_standin(arguments_of(run, command), run.variables);
}

fs::path train(const Run& run) {
  fs::remove_all(test_folder() / "runs" / run.name);
  require_success(start(run));
  return folder_of(run.name);
}

fs::path folder_of(const std::string& name) {
  const std::vector<fs::path> folders(fs::directory_iterator(test_folder() / "runs" / name), {});
  REQUIRE(!folders.empty());
  return *std::ranges::max_element(folders);
}

std::string read_weights(const fs::path& run_folder) {
  const std::string weights = read_file(run_folder / "checkpoints/latest/model.safetensors");
  CHECK(!weights.empty());
  return weights;
}

double distance(const fs::path& run_folder, const fs::path& other) {
  const auto tensors = read_tensors(run_folder), others = read_tensors(other);
  REQUIRE(!tensors.empty());
  REQUIRE(tensors.size() == others.size());
  double difference = 0, size = 0;  // squared norms
  for (const auto& [name, values] : tensors) {
    REQUIRE(others.contains(name));
    REQUIRE(others.at(name).size() == values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      difference += std::pow(double{values[i]} - others.at(name)[i], 2);
      size += std::pow(values[i], 2);
    }
  }
  return std::sqrt(difference / size);
}

fs::path check_same_as_on_cpu(Run run, double limit) {
  const fs::path on_device = train(run);
  const std::string name = run.name;
  run.name += "-cpu";
  run.device = "cpu";
  const fs::path on_cpu = train(run);
  CAPTURE(name);
  CHECK(distance(on_cpu, on_device) <= limit);
  const auto expected = read_metrics(on_cpu), found = read_metrics(on_device);
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    for (const auto& [metric, value] : expected[i]) {
      CAPTURE(metric);
      REQUIRE(found[i].contains(metric));
      CHECK(std::abs(found[i].at(metric) - value) <= limit * std::max(1.0, std::abs(value)));
    }
  return on_device;
}

}  // namespace tenon::cuda_standin
