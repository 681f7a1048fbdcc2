// A program that launches itself like `host`. Its ranks run the actions in its arguments:
// launched_program PROCESSES PATIENCE_S RANK=ACTION[:VALUE],... with the actions below. A rank without actions exits
// with 0. Files are in the working directory. Each rank first writes its process id to pid.RANK.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>

#include "framework/distributed/launch/launch_ranks.h"
#include "framework/distributed/launch/process_state.h"
#include "framework/distributed/launch/world.h"
#include "framework/support/diagnostics/error.h"

namespace {

using namespace tenon::distributed;

std::atomic<int> signals{0};
std::atomic<int> last_signal{0};

void count_signal(int number) {
  last_signal = number;
  ++signals;
}

void sleep_ms(int milliseconds) { usleep(static_cast<useconds_t>(milliseconds) * 1000); }

void write_file(const std::string& name, const std::string& text) {
  std::ofstream(name + ".part") << text;
  std::filesystem::rename(name + ".part", name);
}

void await_file(const std::string& name) {
  while (!std::filesystem::exists(name)) sleep_ms(2);
}

// Waits until the process of the rank is stopped.
void await_stop(const std::string& rank) {
  await_file("pid." + rank);
  pid_t pid = 0;
  std::ifstream("pid." + rank) >> pid;
  while (!is_stopped(read_process_state(pid))) sleep_ms(2);
}

// Waits until the launcher has noticed the end of this rank.
void await_end(const std::string& rank) {
  await_file("pid." + rank);
  pid_t pid = 0;
  std::ifstream("pid." + rank) >> pid;
  while (kill(pid, 0) == 0) sleep_ms(2);
}

bool connects(const World& world) {
  const int number = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(world.master_port);
  inet_pton(AF_INET, world.master_address.c_str(), &address.sin_addr);
  const bool connected = connect(number, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(number);
  return connected;
}

// Returns "127.0.0.1:PORT listens" for the inherited socket of the launcher.
std::string describe_socket(const World& world) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  if (getsockname(world.listen_fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return "no socket";
  int listens = 0;
  length = sizeof listens;
  getsockopt(world.listen_fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length);
  char text[INET_ADDRSTRLEN];
  return std::string(inet_ntop(AF_INET, &address.sin_addr, text, sizeof text)) + ":" +
         std::to_string(ntohs(address.sin_port)) + (listens ? " listens" : " is silent");
}

std::string describe(const World& world) {
  const char* const threads = std::getenv("OMP_NUM_THREADS");
  std::ostringstream text;
  text << "launcher " << static_cast<int>(world.launcher) << " rank " << world.rank << " of " << world.size
       << ", local " << world.local_rank << " of " << world.local_size << ", attempt " << world.attempt << ", threads "
       << (threads ? threads : "unset");
  return text.str();
}

// Kills the process by a signal, even if a sanitizer handles it.
void be_killed(int number) {
  signal(number, SIG_DFL);
  raise(number);
}

// Starts a process that keeps the output of this one open.
void leave_child() {
  const pid_t pid = fork();
  if (pid != 0) return write_file("child", std::to_string(pid));
  sleep(60);
  _exit(0);
}

void handle_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, count_signal);
}

void stop_when_requested() {
  handle_signals();
  write_file("ready." + std::to_string(read_world().rank), "");
  while (signals == 0) sleep_ms(2);
  sleep_ms(300);  // a second signal would be an error
  std::printf("signal %d, %d times\n", last_signal.load(), signals.load());
  std::fflush(stdout);
  _exit(128 + last_signal);
}

void ignore_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, SIG_IGN);
}

void hang() {
  ignore_signals();
  write_file("ready." + std::to_string(read_world().rank), "");
  for (;;) sleep(1);
}

void print_lines(int lines) {
  const std::string filler(1000, 'x');
  for (int line = 0; line < lines; ++line) std::printf("line %d %s\n", line, filler.c_str());
}

void act(const World& world, const std::string& action, const std::string& value) {
  const std::map<std::string, std::function<void()>> actions = {
      {"exit", [&] { std::fflush(nullptr), _exit(std::stoi(value)); }},
      {"kill", [&] { be_killed(std::stoi(value)); }},
      {"wait", [&] { sleep_ms(std::stoi(value)); }},
      {"await_end", [&] { await_end(value); }},
      {"stop", [] { raise(SIGSTOP); }},
      {"await_stop", [&] { await_stop(value); }},
      {"touch", [&] { write_file(value, ""); }},
      {"print", [&] { std::printf("%s\n", value.c_str()); }},
      {"print_error", [&] { std::fprintf(stderr, "%s\n", value.c_str()); }},
      {"print_unended", [&] { std::printf("%s", value.c_str()); }},
      {"print_long", [&] { std::printf("%s\n", std::string(std::stoul(value), 'x').c_str()); }},
      {"print_lines", [&] { print_lines(std::stoi(value)); }},
      {"flush", [&] { std::fflush(stdout); }},
      {"describe", [&] { std::printf("%s\n", describe(world).c_str()); }},
      {"describe_socket", [&] { std::printf("%s\n", describe_socket(world).c_str()); }},
      {"describe_input", [&] { std::printf("input %s\n", std::getchar() == EOF ? "ended" : "given"); }},
      {"connect", [&] { std::printf("connected %d\n", connects(world)); }},
      {"await_refusal",
       [&] {
         while (connects(world)) sleep_ms(2);
       }},
      {"leave_child", leave_child},
      {"report_checkpoint", [] { report_checkpoint(); }},
      {"describe_reports", [&] { std::printf("reports %d\n", world.reports_checkpoints); }},
      {"await_file", [&] { await_file(value); }},
      {"handle_signals", handle_signals},
      {"stop_when_requested", stop_when_requested},
      {"ignore_signals", ignore_signals},
      {"hang", hang}};
  actions.at(action)();
}

void be_rank(const World& world, int argc, char** argv) {
  write_file("pid." + std::to_string(world.rank), std::to_string(getpid()));
  const std::string prefix = std::to_string(world.rank) + "=";
  for (int i = 3; i < argc; ++i) {
    if (!std::string(argv[i]).starts_with(prefix)) continue;
    std::istringstream list(argv[i] + prefix.size());
    for (std::string one; std::getline(list, one, ',');)
      act(world, one.substr(0, one.find(':')), one.find(':') == one.npos ? "" : one.substr(one.find(':') + 1));
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const World world = read_world();
  if (world.launcher != World::Launcher::none) {
    be_rank(world, argc, argv);
    return 0;
  }
  LaunchRequest request;
  request.processes = std::stoll(argv[1]);
  request.arguments.assign(argv, argv + argc);
  request.patience_s = std::stod(argv[2]);
  if (const char* const threads = std::getenv("TEST_OMP_THREADS")) request.omp_threads = std::stoll(threads);
  // The number of the checkpoint after which the ranks are stopped.
  int64_t checkpoints = 0;
  if (const char* const restarts = std::getenv("TEST_RESTARTS_AFTER"))
    request.on_checkpoint = [&checkpoints, after = std::stoll(restarts)] {
      write_file("checkpoint." + std::to_string(++checkpoints), "");
      return checkpoints == after;
    };
  const LaunchReport report = launch_ranks(request);
  if (report.was_stopped_to_restart) std::fprintf(stderr, "stopped to restart\n");
  if (!report.message.empty()) std::fprintf(stderr, "error: %s\n", report.message.c_str());
  return report.exit_code;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
