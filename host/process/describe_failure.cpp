#include "host/process/describe_failure.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <new>
#include <optional>
#include <system_error>

#include "framework/pipeline/device/device_error.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::host {

namespace {

using support::Error;
using support::ErrorKind;

// Recognises errors of LibTorch's allocators. Plugins pass them on as text.
bool is_of_allocator(const std::string& message) {
  constexpr std::array kSigns{"can't allocate memory", "not enough memory", "out of memory", "std::bad_alloc",
                              "_STATUS_ALLOC_FAILED"};
  return std::ranges::any_of(kSigns, [&](const char* sign) { return message.find(sign) != message.npos; });
}

// The loader reports a lack of address space without the reason of the system, which it gives for a mount without
// execution.
bool is_of_loader(const std::string& message) {
  return message.find("failed to map segment from shared object") != message.npos &&
         message.find("not permitted") == message.npos;
}

// The standard library reports a system call that failed, such as one that starts a thread.
std::string describe_system_error(const std::system_error& error) {
  const int code = error.code().value();
  const char* const hint =
      code == EAGAIN ? "; raise the limits of processes (ulimit -u) and of memory (ulimit -v), or lower data.workers "
                       "and run.threads"
      : code == EMFILE || code == ENFILE ? "; raise the limit of open files (ulimit -n)"
                                         : "";
  return std::string("the system refused a request: ") + error.what() + hint;
}

// The limit of ulimit -v in bytes. None if there is no limit.
std::optional<uint64_t> read_address_space_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

Failure describe_lack_of_memory(const std::string& found) {
  const std::string to_save =
      "to save memory, lower data.batch_size and raise train.accumulate by the same factor, set "
      "train.activation_checkpointing = true, set train.precision = \"bf16\" on a device, or use a smaller model";
  if (const auto limit = read_address_space_limit())
    return {
        fmt::format(
            "out of memory: {}; the address space of the process is limited to {} MiB: raise the limit (ulimit -v); {}",
            found, *limit >> 20, to_save),
        static_cast<int>(ErrorKind::system)};
  return {"out of memory: " + found + "; " + to_save, static_cast<int>(ErrorKind::out_of_memory)};
}

std::string first_line_of(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

Failure describe_failure(const std::exception& exception) {
  const auto* const ours = dynamic_cast<const Error*>(&exception);
  const std::string text = pipeline::message_of(exception);
  const bool is_from_plugin = ours && ours->kind() == ErrorKind::plugin;
  if (dynamic_cast<const std::bad_alloc*>(&exception) || ((!ours || is_from_plugin) && is_of_allocator(text)) ||
      (is_from_plugin && is_of_loader(text) && read_address_space_limit()))
    return describe_lack_of_memory(first_line_of(text));
  if (pipeline::is_device_error(exception)) {
    const Error explained = pipeline::explain_device_error(exception, /*step=*/0);
    return {explained.what(), explained.exit_code()};
  }
  if (ours) return {text, ours->exit_code()};
  if (const auto* const refused = dynamic_cast<const std::system_error*>(&exception))
    return {describe_system_error(*refused), static_cast<int>(ErrorKind::system)};
  // LibTorch reads a seed from this device.
  if (text.find("/dev/urandom") != text.npos)
    return {"the system refused a request: " + text, static_cast<int>(ErrorKind::system)};
  return {"internal error: " + text, static_cast<int>(ErrorKind::internal)};
}

}  // namespace tenon::host
