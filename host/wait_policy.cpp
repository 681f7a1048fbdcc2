// libgomp, the OpenMP library of LibTorch's wheels, reads the environment once, in a constructor that runs before
// main() and before the constructors of this program. By default its threads spin at each barrier for milliseconds: on
// a machine that does something else too, they spin for a thread that the kernel has not scheduled
// (docs/decisions/0019-waiting-policy.md).
//
// A function of .preinit_array runs before the constructors of all libraries. It cannot call setenv(): the C library's
// own constructor runs later and takes the environment that the kernel passed. So it puts the settings in the place of
// other variables in that very array, and the first constructor of the program, which runs after those of the
// libraries, puts the variables back. Ranks, plugins and their subprocesses see the environment that the user gave.
//
// The linker takes this object from the library tenon_host because run_command.cpp calls describe_wait_policy(). It
// refuses .preinit_array in a shared library.
#include "host/wait_policy.h"

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <string_view>

extern "C" char** environ;

namespace tenon::host {

namespace {

using namespace std::string_view_literals;

// The settings of the user that the host leaves alone, the one that decides first.
constexpr std::array kWaitSettings{"GOMP_SPINCOUNT="sv, "KMP_BLOCKTIME="sv, "KMP_LIBRARY="sv, "OMP_WAIT_POLICY="sv};

// The host's settings, the most important first. libiomp5 and libomp understand the first one alone. libgomp's threads
// spin for some tens of microseconds before they sleep: most waits are over by then, and a busy machine loses
// little.
constexpr std::array kHostSettings{"OMP_WAIT_POLICY=passive", "GOMP_SPINCOUNT=2000"};

// Variables that constructors of libraries have no reason to read, the least important first: those of shells and
// logins, of services and containers. The dynamic linker has already read LD_LIBRARY_PATH.
constexpr std::array kCoverable{"_="sv,
                                "OLDPWD="sv,
                                "SHLVL="sv,
                                "PWD="sv,
                                "LS_COLORS="sv,
                                "TERM="sv,
                                "MAIL="sv,
                                "LOGNAME="sv,
                                "USER="sv,
                                "SHELL="sv,
                                "HOSTNAME="sv,
                                "EDITOR="sv,
                                "INVOCATION_ID="sv,
                                "JOURNAL_STREAM="sv,
                                "LANG="sv,
                                "LD_LIBRARY_PATH="sv,
                                "HOME="sv,
                                "PATH="sv};

// Written before any constructor runs, so these must be constants at the start and have no constructors themselves.
constinit bool is_users_choice = false;
constinit size_t settings_made = 0;  // the first so many of kHostSettings
constinit std::array<char*, kHostSettings.size()> covered_variables{};

char** find_variable(char** environment, std::string_view name) {
  for (char** variable = environment; *variable; ++variable)
    if (std::string_view(*variable).starts_with(name)) return variable;
  return nullptr;
}

void choose_wait_policy(int, char**, char** environment) {
  for (const std::string_view name : kWaitSettings) is_users_choice |= find_variable(environment, name) != nullptr;
  if (is_users_choice) return;
  for (const std::string_view name : kCoverable) {
    char** const place = find_variable(environment, name);
    if (!place) continue;
    covered_variables[settings_made] = *place;
    *place = const_cast<char*>(kHostSettings[settings_made]);
    if (++settings_made == kHostSettings.size()) return;
  }
}

[[gnu::used, gnu::section(".preinit_array")]] void (*before_constructors)(int, char**, char**) = choose_wait_policy;

// 101 is the first priority that a program may use.
[[gnu::constructor(101)]] void restore_environment() {
  if (settings_made == 0) return;
  // libiomp5 and libomp read the environment at the first call.
  using GetMaxThreads = int (*)();
  if (const auto get_max_threads = reinterpret_cast<GetMaxThreads>(dlsym(RTLD_DEFAULT, "omp_get_max_threads")))
    get_max_threads();
  for (size_t i = 0; i < settings_made; ++i)
    for (char** variable = environ; *variable; ++variable)
      if (*variable == kHostSettings[i]) *variable = covered_variables[i];
}

}  // namespace

std::string describe_wait_policy() {
  if (is_users_choice) {
    std::string text = "OpenMP threads wait as the environment says:";
    for (const std::string_view name : kWaitSettings)
      if (char** const variable = find_variable(environ, name)) text += " " + std::string(*variable);
    return text;
  }
  if (settings_made == 0)
    return "OpenMP threads wait by the OpenMP library's default: the environment has no variable that could be "
           "replaced while the library starts; set OMP_WAIT_POLICY";
  std::string text = "OpenMP threads wait by the host's default:";
  for (size_t i = 0; i < settings_made; ++i) text += " " + std::string(kHostSettings[i]);
  return text;
}

}  // namespace tenon::host
