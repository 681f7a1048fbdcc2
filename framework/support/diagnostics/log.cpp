#include "framework/support/diagnostics/log.h"

#include <spdlog/details/log_msg_buffer.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"
#include "framework/support/text/printable.h"
#include "framework/support/text/terminal.h"

namespace tenon::support {
namespace {

// Buffers lines until the run folder exists, then writes them and all later lines to its log.txt. If that fails, such
// as on a full disk, no more lines are written.
class RunLogSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  RunLogSink() { base_sink::set_pattern_("%Y-%m-%d %H:%M:%S.%e %l: %v"); }

  // Throws Error(system).
  void open(const std::filesystem::path& file) {
    const std::lock_guard lock(mutex_);
    const std::vector<spdlog::details::log_msg_buffer> kept = std::exchange(kept_, {});
    file_ = file;
    state_ = State::failed;
    descriptor_ = open_above_standard_streams(file);
    if (descriptor_ < 0) throw Error(ErrorKind::system, describe("cannot be opened", errno));
    state_ = State::open;
    for (const auto& line : kept)
      if (const int error = write(line); error != 0) throw Error(ErrorKind::system, describe(kNotWritten, error));
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& line) override {
    if (state_ == State::waiting) kept_.emplace_back(line);
    if (state_ != State::open) return;
    // The logger catches it and calls its error handler.
    if (const int error = write(line); error != 0)
      throw spdlog::spdlog_ex(describe(kNotWritten, error) + ". The run continues without this file");
  }
  void flush_() override {}

 private:
  static constexpr const char* kNotWritten = "cannot be written";
  enum class State { waiting, open, failed };

  // A plugin may have closed a standard stream: text for the terminal would go into the file with its number. Returns
  // -1 with errno if the file cannot be opened.
  static int open_above_standard_streams(const std::filesystem::path& file) {
    const int opened = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (opened < 0 || opened > STDERR_FILENO) return opened;
    const int moved = ::fcntl(opened, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int error = errno;
    ::close(opened);
    errno = error;
    return moved;
  }

  std::string describe(const char* what, int error) const {
    return fmt::format("{}: {}: {}", file_.string(), what, std::generic_category().message(error));
  }

  // Returns 0 or an errno.
  int write(const spdlog::details::log_msg& line) {
    spdlog::memory_buf_t text;
    formatter_->format(line, text);
    for (size_t done = 0; done < text.size();) {
      const ssize_t count = ::write(descriptor_, text.data() + done, text.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        state_ = State::failed;
        return count < 0 ? errno : EIO;
      }
      done += static_cast<size_t>(count);
    }
    return 0;
  }

  State state_ = State::waiting;
  std::vector<spdlog::details::log_msg_buffer> kept_;
  std::filesystem::path file_;
  int descriptor_ = -1;  // never closed: the sink lives as long as the process
};

class WarningSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(warnings_, {});
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& line) override {
    if (line.level == spdlog::level::warn) warnings_.emplace_back(line.payload.data(), line.payload.size());
  }
  void flush_() override {}

 private:
  std::vector<std::string> warnings_;
};

class FunctionSink : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit FunctionSink(TakeLogLine take) : take_(take) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& line) override {
    const LogLevel level = line.level >= spdlog::level::err    ? LogLevel::error
                           : line.level == spdlog::level::warn ? LogLevel::warning
                           : line.level == spdlog::level::info ? LogLevel::info
                                                               : LogLevel::debug;
    take_(level, {line.payload.data(), line.payload.size()});
  }
  void flush_() override {}

 private:
  TakeLogLine take_;
};

// Lines for the terminal: JSON, or "warning: the message". On a terminal, a line replaces a progress bar, and long ones
// are wrapped at blanks. Errors are not: they name commands, which a user copies.
class TerminalLines final : public spdlog::formatter {
 public:
  TerminalLines(TerminalFormat format, std::string process) : format_(format), process_(std::move(process)) {}
  void format(const spdlog::details::log_msg& line, spdlog::memory_buf_t& written) override {
    const auto level = spdlog::level::to_string_view(line.level);
    const std::string name(level.data(), level.size()), message(line.payload.data(), line.payload.size());
    const std::string text =
        (format_ == TerminalFormat::json ? to_json(name, message) : to_text(line, name, message)) + "\n";
    written.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<TerminalLines>(format_, process_);
  }

 private:
  std::string to_json(const std::string& level, const std::string& message) const {
    nlohmann::ordered_json json{{"level", level}, {"message", message}};
    if (!process_.empty()) json["process"] = process_;
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }

  std::string to_text(const spdlog::details::log_msg& line, const std::string& level,
                      const std::string& message) const {
    const size_t width = find_terminal_width(stderr);
    const bool is_wrapped = width > 0 && line.level < spdlog::level::err;
    const std::string start = width > 0 ? "\r\033[K" : "";
    line.color_range_start = start.size();
    line.color_range_end = start.size() + level.size();
    const std::string text = level + ": " + (process_.empty() ? "" : process_ + ": ") + message;
    return start + wrap_lines(text, is_wrapped ? width - 1 : 0);
  }

  TerminalFormat format_;
  std::string process_;  // empty: only one process logs
};

struct RunLog {
  std::shared_ptr<RunLogSink> file = std::make_shared<RunLogSink>();
  std::shared_ptr<WarningSink> warnings = std::make_shared<WarningSink>();
  spdlog::logger logger{"tenon"};
  TerminalFormat format = TerminalFormat::text;

  RunLog() {
    const auto colours = has_colours(stderr) ? spdlog::color_mode::always : spdlog::color_mode::never;
    auto terminal = std::make_shared<spdlog::sinks::stderr_color_sink_mt>(colours);
    terminal->set_level(spdlog::level::warn);
    terminal->set_formatter(std::make_unique<TerminalLines>(format, ""));
    warnings->set_level(spdlog::level::off);
    logger.sinks() = {std::move(terminal), file, warnings};
    logger.set_level(spdlog::level::debug);
    logger.set_error_handler([this](const std::string& message) { report(message); });
  }

  // Shows an error of a sink on the terminal.
  void report(const std::string& message) {
    logger.sinks().front()->log(spdlog::details::log_msg(logger.name(), spdlog::level::warn, message));
  }
};

// Never destroyed, because a worker thread may still log while the process exits.
RunLog& run_log() {
  static RunLog* const log = new RunLog;
  return *log;
}

}  // namespace

void log_debug(std::string_view message) { run_log().logger.debug(printable(message)); }
void log_info(std::string_view message) { run_log().logger.info(printable(message)); }
void log_warning(std::string_view message) { run_log().logger.warn(printable(message)); }
void log_error(std::string_view message) { run_log().logger.error(printable(message)); }

void set_terminal_log(TerminalLog log, TerminalFormat format) {
  spdlog::sink_ptr& terminal = run_log().logger.sinks().front();
  terminal->set_level(log == TerminalLog::everything ? spdlog::level::debug : spdlog::level::warn);
  run_log().format = format;
  if (format == TerminalFormat::json) terminal->set_formatter(std::make_unique<TerminalLines>(format, ""));
}

void log_errors_only(std::string_view name) {
  spdlog::sink_ptr& terminal = run_log().logger.sinks().front();
  terminal->set_level(spdlog::level::err);
  terminal->set_formatter(std::make_unique<TerminalLines>(run_log().format, std::string(name)));
}

void collect_warnings() {
  run_log().logger.sinks().front()->set_level(spdlog::level::err);
  run_log().warnings->set_level(spdlog::level::warn);
}

std::vector<std::string> take_warnings() { return run_log().warnings->take(); }

void replace_log(TakeLogLine take) { run_log().logger.sinks() = {std::make_shared<FunctionSink>(take)}; }

// The logger applies the level of a sink, and catches its errors.
void log_warning_of_any_rank(std::string_view message) try {
  const std::string text = printable(message);
  const spdlog::details::log_msg line(run_log().logger.name(), spdlog::level::warn, text);
  for (const spdlog::sink_ptr& sink : run_log().logger.sinks()) {
    try {
      sink->log(line);
    } catch (const spdlog::spdlog_ex& error) {
      run_log().report(error.what());
    }
  }
  flush_log();
} catch (const spdlog::spdlog_ex&) {
  // The log cannot be written, such as to a full disk. The run does not depend on it.
}

void open_log_file(const std::filesystem::path& file) { run_log().file->open(file); }

void flush_log() noexcept try { run_log().logger.flush(); } catch (...) {
  // The process is exiting, possibly because the log cannot be written.
}

}  // namespace tenon::support
