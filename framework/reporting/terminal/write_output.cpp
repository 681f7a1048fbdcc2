#include "framework/reporting/terminal/write_output.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <string>

#include "framework/support/text/printable.h"
#include "framework/support/text/terminal.h"
#include "framework/support/text/wrap_text.h"

namespace tenon::reporting {

void write_output_text(std::string_view text) { write_safe_output_text(support::escape_control_characters(text)); }

void write_wrapped_output_text(const std::string& text) {
  const size_t width = support::find_terminal_width(stdout);
  write_output_text(
      support::wrap_lines(text, width > 0 ? width - 1 : 0));  // some terminals would wrap in the last column
}

void write_safe_output_text(std::string_view text) {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stdout));
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

}  // namespace tenon::reporting
