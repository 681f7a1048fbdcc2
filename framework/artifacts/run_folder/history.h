// history.jsonl and history.csv: the metrics during a run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/artifacts/checkpoint/metric_values.h"
#include "framework/support/files/file_descriptor.h"

namespace tenon::artifacts {

enum class HistoryEvent { step, epoch, validation, checkpoint, test };
const char* to_string(HistoryEvent event);  // "step", ...

struct HistoryLine {
  HistoryEvent event;
  int64_t epoch;
  int64_t step;
  double time_s;         // since the run started; written to the microsecond
  NamedMetrics metrics;  // unique names, other than event, epoch, step and time_s
};

// Returns one JSON object and a line break. The keys are event, epoch, step, time_s, and then the metrics in the given
// order. Numbers have the format of format_json_number().
std::string format_history_line(const HistoryLine& line);
// Parses such a line without its line break. Throws std::invalid_argument that describes the error.
HistoryLine parse_history_line(std::string_view text);

// Whether a metric is a mean over a whole epoch. This holds for the losses in the line of an epoch. In the line of a
// step they are means since the previous line. `losses` are the names of the losses of the run.
bool is_mean_over_epoch(HistoryEvent event, std::string_view metric, const std::vector<std::string>& losses);

// A text file for appending. Each piece is one write(2). A partial write, such as on a full disk, is undone.
class AppendedFile {
 public:
  enum class Opening { is_new, is_there };
  AppendedFile(std::filesystem::path path, Opening opening);  // Error(system)
  void append(std::string_view text);                         // Error(system)

 private:
  std::filesystem::path path_;
  support::FileDescriptor descriptor_;
};

// Writes both files line by line, so that a killed run has complete lines. A new metric adds a column at the right end
// of the CSV file. The file is then replaced in one step, with empty values in the earlier rows. The bytes depend only
// on the lines. Lines are not kept in memory, because a run may write millions. If the CSV file cannot be created or
// written, a warning is logged, and only history.jsonl gets the later lines.
class History {
 public:
  // Throws Error(system) with the path and the reason if history.jsonl cannot be created, also if it already exists.
  History(const std::filesystem::path& jsonl, const std::filesystem::path& csv);

  // Resumes after the first `lines` lines of another or the same history.jsonl. Existing files are replaced. Throws
  // Error(checkpoint) if one of these lines is invalid or missing.
  static History resume(const std::filesystem::path& from, int64_t lines, const std::filesystem::path& jsonl,
                        const std::filesystem::path& csv);

  void append(const HistoryLine& line);
  int64_t lines() const { return lines_; }

 private:
  // Runs `write`. If it throws a support::Error, logs a warning and drops the CSV file.
  template <class Write>
  void write_csv(const Write& write);
  void append_to_csv(const HistoryLine& line);
  void add_columns(size_t first_new);
  std::string format_row(const HistoryLine& line) const;

  int64_t lines_ = 0;
  std::filesystem::path csv_path_;
  AppendedFile jsonl_;
  std::optional<AppendedFile> csv_;  // empty once it could not be written
  std::vector<std::string> columns_;
  std::map<std::string, size_t> places_;  // index of each metric in columns_
};

}  // namespace tenon::artifacts
