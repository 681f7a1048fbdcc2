// history.jsonl and history.csv: the figures of a run as it goes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "framework/artifacts/figures.h"
#include "framework/support/file_descriptor.h"

namespace tenon::artifacts {

enum class HistoryEvent { step, epoch, validation, checkpoint };
const char* to_string(HistoryEvent event);  // "step", ...

struct HistoryLine {
  HistoryEvent event;
  int64_t epoch;
  int64_t step;
  double time_s;    // since the run started; written to the microsecond
  Figures figures;  // each name once, and none of event, epoch, step, time_s
};

// One JSON object a line, keys in the order event, epoch, step, time_s, then the figures as given; numbers as
// print_json_number() writes them. Ends with a line break.
std::string print_history_line(const HistoryLine& line);
// Such a line, without its line break. Throws std::invalid_argument saying what is wrong with it.
HistoryLine parse_history_line(std::string_view text);

// Whether a figure is a mean over a whole epoch: in an epoch's line those of the losses are, which in a step's line are
// means since the line before. `losses`: names of the run's losses.
bool is_mean_over_epoch(HistoryEvent event, std::string_view figure, const std::vector<std::string>& losses);

// A text file that grows by whole pieces: each is one write(2), and one that fails half-way (a full disk) is taken
// back.
class AppendedFile {
 public:
  enum class Opening { is_new, is_there };
  AppendedFile(std::filesystem::path path, Opening opening);  // Error(internal)
  void append(std::string_view text);                         // Error(internal)

 private:
  std::filesystem::path path_;
  support::FileDescriptor descriptor_;
};

// Writes both files line by line, so that a killed run has whole lines. A figure that the CSV has no column for yet
// gets one at the right end: the file is then replaced, in one step, by one where the earlier rows leave it empty. The
// bytes depend on the lines alone. No line is kept in memory: a run may write millions.
class History {
 public:
  // Throws Error(internal) with the path and the reason, also if one of the files exists already.
  History(const std::filesystem::path& jsonl, const std::filesystem::path& csv);

  // Goes on after the first `lines` of another history.jsonl, or of the same one: the files, if they are there, are
  // replaced. Throws Error(checkpoint) for a line that is none.
  static History resume(const std::filesystem::path& from, int64_t lines, const std::filesystem::path& jsonl,
                        const std::filesystem::path& csv);

  void append(const HistoryLine& line);
  int64_t lines() const { return lines_; }

 private:
  void add_columns(size_t first_new);
  std::string print_row(const HistoryLine& line) const;

  int64_t lines_ = 0;
  std::filesystem::path csv_path_;
  AppendedFile jsonl_;
  AppendedFile csv_;
  std::vector<std::string> columns_;
  std::map<std::string, size_t> places_;  // of the figures in columns_
};

}  // namespace tenon::artifacts
