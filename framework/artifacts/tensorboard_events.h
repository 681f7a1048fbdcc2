// The events file of a run, which TensorBoard reads: its figures as curves, its plan as text and as hyperparameters.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/artifacts/draw_samples.h"
#include "framework/artifacts/histogram.h"
#include "framework/artifacts/history.h"
#include "framework/artifacts/hyperparameters.h"
#include "framework/artifacts/protobuf_message.h"
#include "framework/artifacts/run_record.h"

namespace tenon::artifacts {

using Moment = std::chrono::system_clock::time_point;

// Event messages (tensorboard/compat/proto/event.proto). Every `at` is the event's wall time.

// The first of a file: its version, which tells TensorBoard how to read it.
ProtobufMessage make_version_event(Moment at);
// Tells a TensorBoard that has loaded earlier files of the run to forget their figures: this file has them.
ProtobufMessage make_session_start_event(Moment at);
// A text, as Markdown.
ProtobufMessage make_text_event(Moment at, int64_t step, std::string_view tag, std::string_view text);
// Of the HPARAMS page: what the run is with, and when it began; and how it ended.
ProtobufMessage make_hyperparameters_event(Moment at, const Hyperparameters& values);
ProtobufMessage make_outcome_event(Moment at, RunStatus status);
// How values are spread, each under its name.
ProtobufMessage make_histograms_event(Moment at, int64_t step, const std::vector<NamedHistogram>& histograms);
// A picture under its tag.
ProtobufMessage make_picture_event(Moment at, int64_t step, std::string_view tag, const DrawnPicture& picture);
// All figures of a line in one event, under their names, as float.
ProtobufMessage make_scalars_event(Moment at, int64_t step, const Figures& figures);

// Writes whole records, each by one write(2): a killed run's file has them all. Every member that writes throws
// Error(internal) with the path and the reason.
class TensorboardEvents {
 public:
  // Begins a file in the run's folder, in the place of one that is there.
  TensorboardEvents(const std::filesystem::path& folder, Moment now);
  // Begins one with the first `records` records of the one in the folder `from`, which may be the same folder. None if
  // there are not so many whole ones.
  static std::optional<TensorboardEvents> resume(const std::filesystem::path& from, int64_t records,
                                                 const std::filesystem::path& folder, Moment now);

  // `losses`: names of the run's losses. The mean of a loss over an epoch is another figure than that since the last
  // line, so that its tag has `_epoch` behind it; any other tag is the figure's name.
  void append(const HistoryLine& line, const std::vector<std::string>& losses, Moment at);
  void append(const ProtobufMessage& event);

  int64_t records() const { return records_; }

 private:
  explicit TensorboardEvents(AppendedFile file) : file_(std::move(file)) {}

  AppendedFile file_;
  int64_t records_ = 0;
};

// The newest in a run's folder; none where there is none.
std::optional<std::filesystem::path> find_events_file(const std::filesystem::path& folder);

}  // namespace tenon::artifacts
