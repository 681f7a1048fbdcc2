// The run's log: one spdlog logger that writes warnings to the terminal and everything to the run folder's log.txt.
#pragma once

#include <filesystem>
#include <string_view>

namespace tenon::support {

// [any thread] Lines written before open_log_file() are kept and written to the file first.
void log_debug(std::string_view message);
void log_info(std::string_view message);
void log_warning(std::string_view message);
void log_error(std::string_view message);

// What the terminal shows from here on.
enum class TerminalLog { warnings, everything };
enum class TerminalFormat { text, json };  // json: {"level": "warning", "message": "..."}, one on a line
void set_terminal_log(TerminalLog log, TerminalFormat format);

// From here on the terminal has errors alone, behind `name`: another process speaks for all.
void say_errors_only(std::string_view name);

// From here on every line also goes to this file. Throws Error(internal) with the path if it cannot be opened.
void open_log_file(const std::filesystem::path& file);

// Writes out what is buffered; called before the process ends in any way.
void flush_log() noexcept;

}  // namespace tenon::support
