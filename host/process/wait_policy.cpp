// libgomp, the OpenMP library of LibTorch's wheels, reads the environment once, in a constructor that runs before
// main() and before the constructors of this program. By default its threads spin at each barrier for milliseconds. On
// a busy machine they spin for a thread that the kernel has not scheduled (docs/decisions/0019-waiting-policy.md).
//
// A function of .preinit_array runs before the constructors of all libraries. It cannot call setenv(): the C library's
// constructor runs later and takes the environment that the kernel passed. The function therefore replaces other
// variables in that array by the settings. The first constructor of the program runs after those of the libraries and
// restores the variables. Ranks, plugins and their subprocesses see the environment of the user.
//
// The linker takes this object file from the library tenon_host because the train command calls describe_wait_policy().
// It refuses .preinit_array in a shared library.
#include "host/process/process_setup.h"

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <string_view>

extern "C" char** environ;

namespace tenon::host {

namespace {

// User settings that the host does not override, in order of precedence.
constexpr std::array kWaitSettings{"GOMP_SPINCOUNT=", "KMP_BLOCKTIME=", "KMP_LIBRARY=", "OMP_WAIT_POLICY="};

// The host's settings, the most important first. libiomp5 and libomp understand only the first one. libgomp's threads
// spin for up to half a millisecond before they sleep, and on a busy machine not at all: see
// pipeline::limit_spinning().
constexpr std::array kHostSettings{"OMP_WAIT_POLICY=passive", "GOMP_SPINCOUNT=10000"};

// Variables that constructors of libraries do not need, the least important first: those of shells, logins, services
// and containers. The dynamic linker has already read LD_LIBRARY_PATH.
constexpr std::array kCoverable{
    "_=",    "OLDPWD=", "SHLVL=",    "PWD=",    "LS_COLORS=",     "TERM=",           "MAIL=", "LOGNAME=",
    "USER=", "SHELL=",  "HOSTNAME=", "EDITOR=", "INVOCATION_ID=", "JOURNAL_STREAM=", "LANG=", "LD_LIBRARY_PATH=",
    "HOME=", "PATH="};

// These are written before any constructor runs, so they need constant initialisation and no constructors.
constinit bool is_users_choice = false;
constinit size_t settings_made = 0;  // number of applied kHostSettings
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
    std::string text = "OpenMP wait policy from the environment:";
    for (const std::string_view name : kWaitSettings)
      if (char** const variable = find_variable(environ, name)) text += " " + std::string(*variable);
    return text;
  }
  if (settings_made == 0)
    return "OpenMP wait policy is the default of the OpenMP library: the environment has no variable that the host can "
           "replace while the library starts; set OMP_WAIT_POLICY";
  std::string text = "OpenMP wait policy from the host:";
  for (size_t i = 0; i < settings_made; ++i) text += " " + std::string(kHostSettings[i]);
  return text;
}

}  // namespace tenon::host
