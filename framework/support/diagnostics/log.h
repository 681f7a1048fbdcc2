// The log of the run: one spdlog logger that writes warnings to the terminal and everything to log.txt in the run
// folder.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/support/text/format.h"

namespace tenon::support {

// [any thread] Messages may contain text from plugins and files: printable() makes it safe. Lines before
// open_log_file() are buffered and written to the file first.
void log_debug(std::string_view message);
void log_info(std::string_view message);
void log_warning(std::string_view message);
void log_error(std::string_view message);

// The message is fmt::format(format, arguments...).
template <class Argument, class... More>
void log_debug(fmt::format_string<Argument, More...> format, Argument&& argument, More&&... more) {
  log_debug(fmt::format(format, std::forward<Argument>(argument), std::forward<More>(more)...));
}
template <class Argument, class... More>
void log_info(fmt::format_string<Argument, More...> format, Argument&& argument, More&&... more) {
  log_info(fmt::format(format, std::forward<Argument>(argument), std::forward<More>(more)...));
}
template <class Argument, class... More>
void log_warning(fmt::format_string<Argument, More...> format, Argument&& argument, More&&... more) {
  log_warning(fmt::format(format, std::forward<Argument>(argument), std::forward<More>(more)...));
}

// Selects the lines that the terminal shows from now on, and their format.
enum class TerminalLog { warnings, everything };
enum class TerminalFormat { text, json };  // json: {"level": "warning", "message": "..."}, one per line
void set_terminal_log(TerminalLog log, TerminalFormat format);

// From now on, the terminal shows only errors, prefixed with `name`, because another process logs for all ranks.
void log_errors_only(std::string_view name);

// As log_warning, but the terminal shows it also after log_errors_only().
void log_warning_of_any_rank(std::string_view message);

// From now on, every line is also written to this file. Throws Error(system) with the path if it cannot be opened.
void open_log_file(const std::filesystem::path& file);

// Writes buffered lines. It must be called before the process exits in any way.
void flush_log() noexcept;

// From now on, the terminal shows only errors, and take_warnings() returns the warnings.
void collect_warnings();

// [any thread] Those since the last call, in order.
std::vector<std::string> take_warnings();

// Receives a line of the log. It must not throw.
enum class LogLevel { debug, info, warning, error };
using TakeLogLine = void (*)(LogLevel level, std::string_view message);

// From now on, every line goes to `take` alone, on the thread that logs it: for a library in another program.
void replace_log(TakeLogLine take);

}  // namespace tenon::support
