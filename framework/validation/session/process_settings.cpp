#include "framework/validation/session/process_settings.h"

#include <ATen/autocast_mode.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <torch/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cfenv>
#include <clocale>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <locale>

#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/process/arithmetic_modes.h"
#include "framework/support/process/process_state.h"
#include "framework/support/text/format.h"
#include "framework/support/text/format_values.h"
#include "framework/support/text/printable.h"

namespace tenon::validation {

namespace {

std::string read_locale() {
  return std::string(std::setlocale(LC_ALL, nullptr)) + ", " + std::locale().name() +
         (uselocale(nullptr) == LC_GLOBAL_LOCALE ? "" : ", with a different locale for this thread");
}

std::string read_signal_mask() {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  std::string blocked;
  for (int signal = 1; signal < NSIG; ++signal)
    if (sigismember(&mask, signal) == 1) blocked += " " + std::to_string(signal);
  return blocked.empty() ? "none blocked" : "blocked:" + blocked;
}

std::string read_signal_handlers() {
  std::string text;
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_DFL)
      text += fmt::format("{}{}:{}", text.empty() ? "" : " ", signal, reinterpret_cast<uintptr_t>(action.sa_handler));
  }
  return text;
}

std::string read_directory() { return support::read_working_folder().string(); }

std::vector<int> list_descriptors() {
  std::vector<int> numbers;
  std::error_code failure;
  for (const std::filesystem::path& path : support::list_folder("/proc/self/fd", failure))
    numbers.push_back(std::atoi(path.filename().c_str()));
  // The list was read through a descriptor too.
  std::erase_if(numbers, [](int number) { return fcntl(number, F_GETFD) == -1; });
  std::ranges::sort(numbers);
  return numbers;
}

std::vector<int>& host_descriptors() {
  static std::vector<int> numbers;
  return numbers;
}

// Names the file of each descriptor that the host had opened: "0 is 5:3, 1 is closed".
std::string read_descriptors() {
  std::string text;
  for (const int number : host_descriptors()) {
    struct stat status {};
    const bool is_open = fstat(number, &status) == 0;
    text += fmt::format("{}{} is {}", text.empty() ? "" : ", ", number,
                        is_open ? fmt::format("{}:{}", status.st_dev, status.st_ino) : "closed");
  }
  return text;
}

std::string read_environment() {
  std::string text;
  for (char** variable = environ; variable && *variable; ++variable) text += std::string(*variable) + "\n";
  return text;
}

// Rounding and the handling of subnormal numbers, without the exception flags.
std::string read_arithmetic() {
  // Also the rounding of the x87 registers, which long double uses.
  return fmt::format("{:x}, {:x}", support::read_arithmetic_modes(), std::fegetround());
}

std::string read_torch_modes() {
  std::string text = at::GradMode::is_enabled() ? "gradients" : "no gradients";
  if (c10::InferenceMode::is_enabled()) text += ", inference";
  if (at::autocast::is_autocast_enabled(at::kCPU)) text += ", autocast";
  text += fmt::format(", {}, new tensors {}", support::format_count(at::get_num_threads(), "thread"),
                      c10::toString(c10::get_default_dtype_as_scalartype()));
  if (at::globalContext().deterministicAlgorithms()) text += ", deterministic";
  return text;
}

// Calls int getNumThreads() of namespace cv in each OpenCV that is loaded. A plugin that contains OpenCV hides it.
std::string read_opencv_threads() {
  std::string text;
  dl_iterate_phdr(
      [](dl_phdr_info* library, size_t, void* into) {
        if (!library->dlpi_name || !std::strstr(library->dlpi_name, "libopencv_core")) return 0;
        void* const loaded = dlopen(library->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
        if (!loaded) return 0;
        if (const auto count = reinterpret_cast<int (*)()>(dlsym(loaded, "_ZN2cv13getNumThreadsEv")))
          *static_cast<std::string*>(into) += support::format_count(count(), "thread");
        dlclose(loaded);
        return 0;
      },
      &text);
  return text;
}

// The bytes that were written to standard output since divert_output().
std::string read_output_bytes() {
  std::cout.flush();
  std::fflush(stdout);
  return support::format_count(lseek(STDOUT_FILENO, 0, SEEK_CUR), "byte");
}

}  // namespace

const std::vector<ProcessSetting>& process_settings() {
  static const std::vector<ProcessSetting> all{
      {"keeps-locale", "the locale", read_locale},
      {"keeps-signal-mask", "the mask of blocked signals", read_signal_mask},
      {"keeps-signal-handlers", "the handlers of signals", read_signal_handlers},
      {"keeps-umask", "the umask", support::read_umask},
      {"keeps-directory", "the working directory", read_directory},
      {"keeps-descriptors", "the file descriptors of the host", read_descriptors},
      {"keeps-environment", "the environment", read_environment},
      {"keeps-arithmetic", "the modes of floating-point arithmetic", read_arithmetic},
      // The workers of the host are threads, so a dataset sets one.
      {"keeps-opencv-threads", "the number of threads of OpenCV", read_opencv_threads, "1 thread"},
      {"keeps-torch-modes", "the modes of LibTorch", read_torch_modes}};
  return all;
}

const ProcessSetting& written_output() {
  static const ProcessSetting output{"keeps-output", "what was written to standard output", read_output_bytes};
  return output;
}

void divert_output() {
  const int file = memfd_create("output", MFD_CLOEXEC);
  if (file < 0 || dup2(file, STDOUT_FILENO) < 0)
    throw support::Error(support::ErrorKind::system, "validate: standard output cannot be diverted: {}",
                         std::strerror(errno));
}

std::string read_diverted_output() {
  std::string text(200, '\0');
  const ssize_t size = pread(STDOUT_FILENO, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return support::escape_control_characters(text.substr(0, text.find('\n')));
}

void record_host_descriptors() {
  if (host_descriptors().empty()) host_descriptors() = list_descriptors();
}

std::vector<std::string> read_process_settings() {
  std::vector<std::string> values;
  for (const ProcessSetting& setting : process_settings()) values.push_back(setting.read());
  return values;
}

std::string describe_changes(const std::vector<std::string>& before, const std::vector<std::string>& after) {
  std::string text;
  constexpr size_t kShort = 80;  // a whole environment would be too long to read
  for (size_t i = 0; i < before.size(); ++i) {
    if (!process_settings()[i].is_changed(before[i], after[i])) continue;
    text += (text.empty() ? "" : ", ") + std::string(process_settings()[i].what);
    if (before[i].size() < kShort && after[i].size() < kShort) text += " (" + before[i] + ", now " + after[i] + ")";
  }
  return text;
}

}  // namespace tenon::validation
