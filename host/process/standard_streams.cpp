#include "host/process/standard_streams.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <string>

#include "framework/support/error.h"
#include "framework/support/log.h"
#include "framework/support/printable.h"
#include "framework/support/retry_interrupted.h"

namespace tenon::host {

bool open_standard_streams() {
  bool was_closed = false;
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    was_closed = true;
    // open() returns the lowest free descriptor, which is this one.
    static_cast<void>(support::retry_interrupted([] { return open("/dev/null", O_RDWR); }));
  }
  return was_closed;
}

void restore_standard_streams() {
  if (open_standard_streams())
    support::log_warning(
        "a plugin closed a standard stream (descriptor 0, 1 or 2); what the host reads from or writes to it is lost: "
        "find the plugin with host validate --check keeps-descriptors, and let it close only what it opened");
}

void write_output_text(std::string_view text) {
  const std::string escaped = support::escape_control_characters(text);
  static_cast<void>(std::fwrite(escaped.data(), 1, escaped.size(), stdout));  // flush_standard_output() checks
}

void write_output(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char* text = nullptr;
  const int size = vasprintf(&text, format, arguments);
  va_end(arguments);
  if (size < 0) throw std::bad_alloc();
  const std::unique_ptr<char, decltype(&std::free)> owner(text, &std::free);
  write_output_text({text, static_cast<size_t>(size)});
}

void write_output_json(const nlohmann::ordered_json& json, int indent) {
  write_output_text(json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void flush_standard_output() {
  errno = 0;
  const bool has_failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (!has_failed) return;
  const std::string reason = errno != 0 ? std::string(": ") + std::strerror(errno) : "";
  throw support::Error(support::ErrorKind::system, "standard output: cannot be written completely" + reason +
                                                       "; free some space, or redirect the output to another disk");
}

}  // namespace tenon::host
