// Shared code of the callbacks: monitored metrics, and saved states.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include <tenon/plugin.hpp>

// Returns what `read` returns about a metric, or nothing as long as another callback has not logged the metric.
template <class Read>
auto read_if_logged(Read&& read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const tenon::Error& error) {
    if (error.status() != TENON_NOT_FOUND) throw;
    return std::nullopt;
  }
}

// Returns the latest value of a metric.
inline std::optional<double> read_metric(const tenon::Run& run, const std::string& name) {
  return read_if_logged([&] { return run.metric(name); });
}

// Whether higher or lower values of the monitored metric are better: the parameter `mode`, and for "auto" the direction
// that the run reports.
class MonitoredDirection {
 public:
  static tenon::Param param() {
    return tenon::param("mode", "auto")
        .choices({"auto", "min", "max"})
        .doc("min: lower is better; max: higher is better; auto: as declared by the loss or metric");
  }
  explicit MonitoredDirection(const std::string& mode) : sign_(mode == "max" ? 1 : mode == "min" ? -1 : 0) {}

  // Call it in run_setup.
  void find(const tenon::Run& run, const std::string& metric) {
    if (sign_ == 0) sign_ = read_if_logged([&] { return tenon::metric_direction(run, metric); }).value_or(0);
    if (sign_ == 0) {
      throw tenon::Error(TENON_INVALID_ARGUMENT, "mode is \"auto\", but it is unknown whether a lower or a higher " +
                                                     metric + " is better; set \"min\" or \"max\"");
    }
  }

  double sign() const { return sign_; }  // 1: higher is better, -1: lower is better

 private:
  int sign_;
};

// The saved state of a callback as one line of words: `nan_guard/1 3 0x1.8p+1`.
class StateWriter {
 public:
  // `form` names the callback and the version of its state.
  explicit StateWriter(const std::string& form) : text_(form) {}

  void add(int64_t number) { text_ += ' ' + std::to_string(number); }
  void add(double number) {
    char digits[40];
    std::snprintf(digits, sizeof digits, " %a", number);  // hexadecimal, without rounding
    text_ += digits;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// Reads the text of a StateWriter. Throws tenon::Error(TENON_INVALID_ARGUMENT) unless a StateWriter of this form wrote
// it.
class StateReader {
 public:
  StateReader(std::string_view bytes, const std::string& form) : form_(form), words_(std::string(bytes)) {
    if (next() != form) refuse("has another header");
  }

  int64_t integer(int64_t least, int64_t most) {
    const std::string word = next();
    char* end = nullptr;
    const long long number = std::strtoll(word.c_str(), &end, 10);
    if (word.empty() || *end != '\0' || number < least || number > most) refuse("contains \"" + shorten(word) + "\"");
    return number;
  }
  // Rejects NaN, which cannot be ordered.
  double number() {
    const std::string word = next();
    char* end = nullptr;
    const double number = std::strtod(word.c_str(), &end);
    if (word.empty() || *end != '\0' || std::isnan(number)) refuse("contains \"" + shorten(word) + "\"");
    return number;
  }
  void finish() {
    if (!next().empty()) refuse("has data after its end");
  }

 private:
  std::string next() {
    std::string word;
    words_ >> word;
    return word;
  }
  static std::string shorten(const std::string& word) { return word.substr(0, 40); }
  [[noreturn]] void refuse(const std::string& what) const {
    throw tenon::Error(TENON_INVALID_ARGUMENT,
                       "the saved state " + what + "; expected a state that " + form_ + " saved");
  }

  std::string form_;
  std::istringstream words_;
};
