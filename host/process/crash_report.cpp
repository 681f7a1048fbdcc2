#include "host/process/process_setup.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "framework/components/calls/guard.h"
#include "framework/components/loading/shared_library.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/mapped_file.h"
#include "framework/support/process/before_exit.h"
#include "framework/support/process/signal_stack.h"

namespace tenon::host {

namespace {

pid_t reporting_process = 0;

// Uses only what a signal handler may call: write(2), and strings that do not change after the catalogue was opened.
void print(const char* text) {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0) return;  // no output left
}

void print(uint64_t number) {
  char digits[24];
  char* first = digits + sizeof digits - 1;
  *first = '\0';
  do *--first = static_cast<char>('0' + number % 10);
  while ((number /= 10) > 0);
  print(first);
}

template <class... Pieces>
void print_all(Pieces... pieces) {
  (print(pieces), ...);
}

// Prints "plugins/digits.so, dataset digits, function get, train sample 17".
void print_place(const components::Breadcrumb& place) {
  print_all(place.component->plugin->file.c_str(), ", ", config::to_string(place.component->schema.kind), " ",
            place.component->schema.id.c_str(), ", function ", place.function);
  if (place.at.unit)
    print_all(", ", place.at.unit, " ", place.at.number < 0 ? uint64_t{0} : static_cast<uint64_t>(place.at.number));
}

// Prints the plugin that this thread calls or opens, or else the plugin with the code.
void print_plugin(const components::Breadcrumb& place, const components::PluginCode* code) {
  if (place.component) {
    print("plugin ");
    print_place(place);
  } else if (place.file) {
    print_all("plugin ", place.file);
  } else {
    print_all("the code of plugin ", code->file, ", in a thread that the plugin started");
  }
}

// libgomp, or another OpenMP library, calls exit() if the system refuses it a thread or memory.
bool is_exit_called_by_openmp() {
  constexpr std::array kLibraries{"libgomp", "libiomp5", "libomp"};
  std::array<void*, 64> calls;
  const int count = backtrace(calls.data(), static_cast<int>(calls.size()));
  return std::any_of(calls.begin(), calls.begin() + count, [&](void* call) {
    Dl_info found{};
    return dladdr(call, &found) != 0 && found.dli_fname &&
           std::ranges::any_of(kLibraries, [&](const char* name) { return std::strstr(found.dli_fname, name); });
  });
}

// Reports that a plugin or a library ends the process. Without this function the run would appear to have succeeded, or
// to have ended by another error. The host returns from main(), and calls _exit() where it has no plugin's function.
void report_exit(const char* name, const void* caller) {
  const bool is_exit = std::strcmp(name, "exit") == 0;
  const bool is_forked = getpid() != reporting_process;
  if (!is_exit && is_forked) return;  // a process that a plugin has forked should call _exit()
  if (is_exit && is_exit_called_by_openmp()) {
    print(
        "error: OpenMP ended the process, because the system refused it a thread or memory (its message is above); "
        "raise the limits of processes (ulimit -u) and of memory (ulimit -v), or lower run.threads\n");
    support::end_process(static_cast<int>(support::ErrorKind::system));
  }
  const components::Breadcrumb& place = components::breadcrumb();
  // The call may be the last instruction of the code.
  const components::PluginCode* const code = components::find_plugin_code(reinterpret_cast<uintptr_t>(caller) - 1);
  if (place.component || place.file || code) {
    print_all("\nerror: ", name, "() was called in ");
    print_plugin(place, code);
    print("; a plugin must return a status and never end the process\n");
    support::end_process(static_cast<int>(support::ErrorKind::plugin));
  }
  if (is_forked || name[0] == '_') return;
  Dl_info library{};
  print_all("\nerror: ", name, "() was called in ",
            dladdr(caller, &library) != 0 && library.dli_fname ? library.dli_fname : "an unknown library",
            ", outside of any plugin's function; it may have printed the reason above\n");
  support::end_process(static_cast<int>(support::ErrorKind::internal));
}

struct Registers {
  uintptr_t instruction = 0;
  uintptr_t stack = 0;
};

Registers read_registers(const void* context) {
  const mcontext_t& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return {static_cast<uintptr_t>(machine.gregs[REG_RIP]), static_cast<uintptr_t>(machine.gregs[REG_RSP])};
#elif defined(__aarch64__)
  return {machine.pc, machine.sp};
#else
#error "the registers of this processor are missing"
#endif
}

void print_files_of_plugins() {
  const char* separator = "";
  for (const components::PluginCode& code : components::plugin_codes())
    print_all(std::exchange(separator, ", "), code.file);
}

// `is_heap_damage`: the C library may have called abort() because it found damaged memory.
void print_crash_place(uintptr_t instruction, bool is_heap_damage) {
  const components::Breadcrumb& place = components::breadcrumb();
  const components::PluginCode* const code = components::find_plugin_code(instruction);
  if (place.component || place.file || code) {
    print(" in ");
    print_plugin(place, code);
  }
  if (place.component) {
    if (is_heap_damage)
      print_all(
          ". If a message of the C library is above, such as free(): invalid pointer, a plugin has damaged the memory "
          "of the process: to find the function, run host validate ",
          place.component->plugin->file.c_str());
  } else if (place.file) {
    print(
        " while it was opened: check its entry function and the tables that it returns, such as a list that is shorter "
        "than its count");
  } else if (!code) {
    print(" outside of any plugin's function");
    if (!components::plugin_codes().empty()) {
      print(
          ". A plugin may have written outside of its memory before, or crashed in a thread that it started: check "
          "each plugin of this run with host validate: ");
      print_files_of_plugins();
    }
  }
  print("\n");
}

void print_changed_plugins() {
  for (const components::PluginCode& code : components::plugin_codes()) {
    if (!code.is_changed()) continue;
    print_all("The file ", code.file,
              " was overwritten while the process used it, which is the likely cause: write a new plugin to another "
              "file and rename it, then run again\n");
  }
}

// SIGBUS at a mapped file: it has fewer bytes than when it was mapped, or its disk failed.
void print_shortened_file(uintptr_t address) {
  support::MappedFile file;
  if (!support::find_mapped_file(address, file)) return;
  print_all("Byte ", file.offset, " of ", file.path,
            " could not be read: the file was shortened while the process used it, or its disk failed\n");
}

// An address in the file of a plugin, such as that of a constant which something has written to.
void print_plugin_of_address(uintptr_t address) {
  const components::PluginCode* const code = components::find_plugin_code(address);
  if (!code) return;
  print_all("The invalid address is in the memory of ", code->file, ": its code and its constants are read-only\n");
}

void report_crash(int signal, siginfo_t* info, void* context) {
  const Registers registers = read_registers(context);
  const bool has_address = (signal == SIGSEGV || signal == SIGBUS) && info->si_code > 0;  // not from kill() or raise()
  const auto address = has_address ? reinterpret_cast<uintptr_t>(info->si_addr) : uintptr_t{0};
  print_all("\nerror: the process crashed with ", has_address && support::is_stack_overflow(address, registers.stack)
                                                      ? "SIGSEGV (stack overflow)"
                                                      : support::describe_crash_signal(signal));
  print_crash_place(registers.instruction, signal == SIGABRT && !is_uncaught_exception_reported());
  if (has_address) print_plugin_of_address(address);
  if (has_address && signal == SIGBUS) print_shortened_file(address);
  print_changed_plugins();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

}  // namespace

void report_crashes() {
  reporting_process = getpid();
  support::set_before_exit(report_exit);
  static const auto* const stack = new support::SignalStack;  // never destroyed: a crash at exit needs it too
  static_cast<void>(stack);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
    struct sigaction action {};
    action.sa_sigaction = report_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace tenon::host
