#include "tests/end_to_end/hosted_run.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "tests/host_server/protocol.h"
#include "tests/test_folder.h"

namespace tenon::end_to_end {

namespace fs = std::filesystem;

namespace {

std::string quote(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return quoted + "'";
}

std::vector<nlohmann::ordered_json> read_history(const fs::path& run_folder) {
  std::ifstream stream(run_folder / "history.jsonl");
  std::vector<nlohmann::ordered_json> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(nlohmann::ordered_json::parse(line));
  return lines;
}

// Runs `host` by the server of scripts/test. Returns its wait status, or no value if there is no server.
std::optional<int> run_by_server(const fs::path& folder, const std::vector<std::string>& arguments) {
  const char* const path = std::getenv("TENON_HOST_SERVER");
  if (!path) return std::nullopt;
  const int connection = host_server::connect_to(path);
  REQUIRE_MESSAGE(connection >= 0, "the server of scripts/test at ", path, " does not respond");
  host_server::Request request{folder.string(), {}, {}, {TENON_BINARY_DIR "/bin/host"}};
  constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  request.files = {open("/dev/null", O_RDONLY | O_CLOEXEC), open((folder / "output.txt").c_str(), kWrite, 0666),
                   open((folder / "errors.txt").c_str(), kWrite, 0666)};
  for (char** variable = environ; *variable; ++variable)
    if (std::strncmp(*variable, "NO_COLOR=", 9) != 0) request.environment.emplace_back(*variable);
  request.environment.emplace_back("NO_COLOR=1");
  request.arguments.insert(request.arguments.end(), arguments.begin(), arguments.end());
  std::optional<int32_t> status;
  if (host_server::send(connection, request) && host_server::receive_number(connection))
    status = host_server::receive_number(connection);
  for (const int file : request.files) close(file);
  close(connection);
  REQUIRE_MESSAGE(status.has_value(), "the server of scripts/test at ", path, " does not respond");
  return status;
}

}  // namespace

Outcome run_host(const std::vector<std::string>& arguments, const std::string& prefix) {
  return run_program("host", arguments, prefix);
}

Outcome run_program(const std::string& name, const std::vector<std::string>& arguments, const std::string& prefix) {
  const fs::path& folder = tenon::test_folder();
  const auto outcome = [&](int status) {
    return Outcome{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(folder / "output.txt"),
                   read_file(folder / "errors.txt")};
  };
  if (name == "host" && prefix.empty())
    if (const std::optional<int> status = run_by_server(folder, arguments)) return outcome(*status);
  std::string command = "cd " + quote(folder.string()) + " && NO_COLOR=1 " + prefix + " " +
                        quote((fs::path(TENON_BINARY_DIR) / "bin" / name).string());
  for (const std::string& argument : arguments) command += " " + quote(argument);
  return outcome(std::system((command + " >output.txt 2>errors.txt </dev/null").c_str()));
}

Outcome require_success(Outcome outcome) {
  CAPTURE(outcome.output);
  CAPTURE(outcome.errors);
  REQUIRE(outcome.exit_code == 0);
  return outcome;
}

void check_errors(const Outcome& outcome, int exit_code, const std::vector<std::string>& texts) {
  CAPTURE(outcome.output);
  CAPTURE(outcome.errors);
  CHECK(outcome.exit_code == exit_code);
  for (const std::string& text : texts) {
    CAPTURE(text);
    CHECK(outcome.errors.find(text) != std::string::npos);
  }
}

std::vector<std::string> joined(std::vector<std::string> first, const std::vector<std::string>& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

fs::path make_empty_folder(const std::string& name) {
  const fs::path folder = tenon::test_folder() / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

fs::path write_file(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
  return path;
}

std::string read_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

fs::path find_run_folder(const fs::path& output_dir, const std::string& name) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(output_dir / name))
    if (entry.is_directory()) found.push_back(entry.path());
  REQUIRE(found.size() == 1);
  return found.front();
}

std::string read_history_without_times(const fs::path& run_folder) {
  std::string text;
  for (nlohmann::ordered_json& line : read_history(run_folder)) {
    for (const char* time :
         {"time_s", "train/step_s", "train/data_wait_s", "train/forward_backward_s", "train/optimizer_s"})
      line.erase(time);
    text += line.dump() + "\n";
  }
  return text;
}

double read_last_metric(const fs::path& run_folder, const std::string& name) {
  double value = 0;
  bool found = false;
  for (const nlohmann::ordered_json& line : read_history(run_folder))
    if (line.contains(name)) {
      value = line[name].get<double>();
      found = true;
    }
  CAPTURE(name);
  REQUIRE(found);
  return value;
}

}  // namespace tenon::end_to_end
