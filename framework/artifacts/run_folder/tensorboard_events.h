// The TensorBoard events file of a run: metrics as scalars, and the plan as text and hyperparameters.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/artifacts/drawing/render_samples.h"
#include "framework/artifacts/run_folder/histogram.h"
#include "framework/artifacts/run_folder/history.h"
#include "framework/artifacts/run_folder/hyperparameters.h"
#include "framework/artifacts/run_folder/protobuf_message.h"
#include "framework/artifacts/run_folder/run_record.h"

namespace tenon::artifacts {

using TimePoint = std::chrono::system_clock::time_point;

// Event messages (tensorboard/compat/proto/event.proto). `at` is the wall time of the event.

// The first event of a file: the file version, which TensorBoard requires.
ProtobufMessage make_version_event(TimePoint at);
// Makes TensorBoard discard the metrics of earlier files of the run, because this file contains them.
ProtobufMessage make_session_start_event(TimePoint at);
// A text in Markdown.
ProtobufMessage make_text_event(TimePoint at, int64_t step, std::string_view tag, std::string_view text);
// For the HPARAMS page: the hyperparameters and start time of the run, and its outcome.
ProtobufMessage make_hyperparameters_event(TimePoint at, const Hyperparameters& values);
ProtobufMessage make_outcome_event(TimePoint at, RunStatus status);
// Histograms by name.
ProtobufMessage make_histograms_event(TimePoint at, int64_t step, const std::vector<NamedHistogram>& histograms);
// An image with a tag.
ProtobufMessage make_picture_event(TimePoint at, int64_t step, std::string_view tag, const RenderedPicture& picture);
// All metrics of a line in one event, by name, as float.
ProtobufMessage make_scalars_event(TimePoint at, int64_t step, const NamedMetrics& metrics);

// Writes complete records, each with one write(2), so that the file of a killed run has all records. All members that
// write throw Error(system) with the path and the reason.
class TensorboardEvents {
 public:
  // Creates a file in the run folder and replaces an existing one.
  TensorboardEvents(const std::filesystem::path& folder, TimePoint now);
  // Creates a file with the first `records` records of the file in the folder `from`, which may be the same folder.
  // None if that file has fewer complete records.
  static std::optional<TensorboardEvents> resume(const std::filesystem::path& from, int64_t records,
                                                 const std::filesystem::path& folder, TimePoint now);

  // `losses` are the names of the losses of the run. The tag of the mean of a loss over an epoch has the suffix
  // `_epoch`, because it differs from the mean since the last line. Every other tag is the name of the metric.
  void append(const HistoryLine& line, const std::vector<std::string>& losses, TimePoint at);
  void append(const ProtobufMessage& event);

  int64_t records() const { return records_; }

 private:
  explicit TensorboardEvents(AppendedFile file) : file_(std::move(file)) {}

  AppendedFile file_;
  int64_t records_ = 0;
};

// Returns the newest events file in a run folder. None if there is none.
std::optional<std::filesystem::path> find_events_file(const std::filesystem::path& folder);

}  // namespace tenon::artifacts
