#include "framework/artifacts/run_folder/tensorboard_events.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <system_error>
#include <utility>

#include "framework/artifacts/run_folder/machine.h"
#include "framework/artifacts/run_folder/record_framing.h"
#include "framework/support/files/files.h"
#include "framework/support/files/read_file.h"
#include "framework/support/text/printable.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "events.out.tfevents.";
constexpr size_t kSecondsDigits = 10;
constexpr const char* kBegun = "events.begun";

// The field numbers of event.proto, summary.proto, tensor.proto and struct.proto, and of plugin_data.proto and
// api.proto of the HParams plugin.
namespace event {
constexpr uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7, kSourceMetadata = 10;
}
namespace session_log {
constexpr uint32_t kStatus = 1;
constexpr uint64_t kStart = 1;
}  // namespace session_log
namespace source_metadata {
constexpr uint32_t kWriter = 1;
}
namespace summary {
constexpr uint32_t kValue = 1, kTag = 1, kSimpleValue = 2, kImage = 4, kHistogram = 5, kTensor = 8, kMetadata = 9;
constexpr uint32_t kPluginData = 1, kDataClass = 4, kPluginName = 1, kContent = 2;
constexpr uint64_t kTensorClass = 2;
}  // namespace summary
namespace image {
constexpr uint32_t kHeight = 1, kWidth = 2, kColourSpace = 3, kPng = 4;
constexpr uint64_t kRgb = 3;
}  // namespace image
namespace histogram {
constexpr uint32_t kSmallest = 1, kLargest = 2, kNumber = 3, kSum = 4, kSumOfSquares = 5, kLimits = 6, kCounts = 7;
}
namespace tensor {
constexpr uint32_t kDtype = 1, kShape = 2, kStringValue = 8, kDim = 2, kSize = 1;
constexpr uint64_t kFloat = 1, kString = 7;
}  // namespace tensor
namespace hparams {
constexpr uint32_t kSessionStart = 3, kSessionEnd = 4;
constexpr uint32_t kHparams = 1, kStartTime = 5, kKey = 1, kValue = 2;
constexpr uint32_t kStatus = 1, kEndTime = 2;
constexpr uint32_t kNumber = 2, kText = 3, kTruth = 4;
constexpr uint64_t kSuccess = 1, kFailure = 2, kRunning = 3;
}  // namespace hparams

// A double cannot represent all nanoseconds since 1970, so the seconds and their fraction are added separately.
double to_seconds(TimePoint moment) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(moment);
  return static_cast<double>(whole.time_since_epoch().count()) + std::chrono::duration<double>(moment - whole).count();
}

ProtobufMessage make_event(TimePoint at, int64_t step = 0) {
  ProtobufMessage message;
  message.real64(event::kWallTime, to_seconds(at));
  if (step != 0) message.integer(event::kStep, static_cast<uint64_t>(step));
  return message;
}

// Metadata for a TensorBoard plugin. `content` is a message that the plugin defines.
ProtobufMessage make_metadata(std::string_view plugin, const ProtobufMessage* content) {
  ProtobufMessage data;
  data.text(summary::kPluginName, plugin);
  if (content) data.message(summary::kContent, *content);
  ProtobufMessage metadata;
  metadata.message(summary::kPluginData, data).integer(summary::kDataClass, summary::kTensorClass);
  return metadata;
}

ProtobufMessage make_tensor_summary(std::string_view tag, const ProtobufMessage& tensor,
                                    const ProtobufMessage& metadata) {
  ProtobufMessage value, all;
  value.text(summary::kTag, tag).message(summary::kTensor, tensor).message(summary::kMetadata, metadata);
  return all.message(summary::kValue, value);
}

// A vector [size] of a dtype. A size of 0 is the proto3 default and omitted.
ProtobufMessage make_vector(uint64_t dtype, uint64_t size) {
  ProtobufMessage dim, shape, vector;
  if (size != 0) dim.integer(tensor::kSize, size);
  shape.message(tensor::kDim, dim);
  return vector.integer(tensor::kDtype, dtype).message(tensor::kShape, shape);
}

ProtobufMessage make_hparams_event(TimePoint at, std::string_view tag, uint32_t field, const ProtobufMessage& info) {
  ProtobufMessage content;
  content.message(field, info);
  return make_event(at).message(
      event::kSummary, make_tensor_summary(tag, make_vector(tensor::kFloat, 0), make_metadata("hparams", &content)));
}

ProtobufMessage to_struct_value(const Hyperparameter& value) {
  ProtobufMessage message;
  if (const bool* const truth = std::get_if<bool>(&value)) return message.integer(hparams::kTruth, *truth ? 1 : 0);
  if (const double* const number = std::get_if<double>(&value)) return message.real64(hparams::kNumber, *number);
  return message.text(hparams::kText, support::escape_control_characters(std::get<std::string>(value)));
}

std::vector<fs::path> list_events_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::path& path : support::list_folder(folder, error))
    if (path.filename().string().starts_with(kPrefix)) files.push_back(std::move(path));
  return files;
}

int64_t parse_seconds(const fs::path& file) {
  const std::string digits = file.filename().string().substr(kPrefix.size(), kSecondsDigits);
  int64_t seconds = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  return seconds;
}

// TensorBoard reads the files of a folder in the order of their names. While running, it looks for later names.
fs::path name_events_file(const fs::path& folder, TimePoint now) {
  int64_t seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  for (const fs::path& file : list_events_files(folder)) seconds = std::max(seconds, parse_seconds(file) + 1);
  std::string digits = std::to_string(seconds);
  digits.insert(0, kSecondsDigits - std::min(digits.size(), kSecondsDigits), '0');
  const std::string machine = read_machine().hostname;
  return folder / (std::string(kPrefix) + digits + "." + (machine.empty() ? "machine" : machine) + "." +
                   std::to_string(::getpid()));
}

// Returns the path for a new file, under a name that TensorBoard ignores, and removes a leftover file there.
fs::path make_empty_place(const fs::path& folder) {
  const fs::path place = folder / kBegun;
  std::error_code ignored;  // leftover of a killed process
  fs::remove(place, ignored);
  return place;
}

// Renames the new file first and then removes the files that it replaces, so that a killed run always has one of them.
void put_in_place(const fs::path& folder, TimePoint now) {
  const std::vector<fs::path> earlier = list_events_files(folder);
  support::rename_path(folder / kBegun, name_events_file(folder, now), support::ErrorKind::system);
  std::error_code ignored;
  for (const fs::path& file : earlier) fs::remove(file, ignored);
}

}  // namespace

ProtobufMessage make_version_event(TimePoint at) {
  ProtobufMessage source;
  source.text(source_metadata::kWriter, "tenon");
  return make_event(at).text(event::kFileVersion, "brain.Event:2").message(event::kSourceMetadata, source);
}

ProtobufMessage make_session_start_event(TimePoint at) {
  ProtobufMessage log;
  log.integer(session_log::kStatus, session_log::kStart);
  return make_event(at).message(event::kSessionLog, log);
}

ProtobufMessage make_text_event(TimePoint at, int64_t step, std::string_view tag, std::string_view text) {
  const ProtobufMessage vector =
      make_vector(tensor::kString, 1).text(tensor::kStringValue, support::escape_control_characters(text));
  return make_event(at, step).message(event::kSummary, make_tensor_summary(support::escape_control_characters(tag),
                                                                           vector, make_metadata("text", nullptr)));
}

ProtobufMessage make_hyperparameters_event(TimePoint at, const Hyperparameters& values) {
  ProtobufMessage start;
  for (const auto& [key, value] : values) {
    ProtobufMessage entry;
    entry.text(hparams::kKey, support::escape_control_characters(key)).message(hparams::kValue, to_struct_value(value));
    start.message(hparams::kHparams, entry);
  }
  start.real64(hparams::kStartTime, to_seconds(at));
  return make_hparams_event(at, "_hparams_/session_start_info", hparams::kSessionStart, start);
}

ProtobufMessage make_outcome_event(TimePoint at, RunStatus status) {
  ProtobufMessage end;
  end.integer(hparams::kStatus, status == RunStatus::failed    ? hparams::kFailure
                                : status == RunStatus::running ? hparams::kRunning
                                                               : hparams::kSuccess);
  end.real64(hparams::kEndTime, to_seconds(at));
  return make_hparams_event(at, "_hparams_/session_end_info", hparams::kSessionEnd, end);
}

ProtobufMessage make_scalars_event(TimePoint at, int64_t step, const NamedMetrics& metrics) {
  ProtobufMessage all;
  for (const auto& [name, number] : metrics) {
    ProtobufMessage value;
    value.text(summary::kTag, support::escape_control_characters(name))
        .real32(summary::kSimpleValue, static_cast<float>(number));
    all.message(summary::kValue, value);
  }
  return make_event(at, step).message(event::kSummary, all);
}

ProtobufMessage make_histograms_event(TimePoint at, int64_t step, const std::vector<NamedHistogram>& histograms) {
  ProtobufMessage all;
  for (const auto& [name, one] : histograms) {
    ProtobufMessage spread, value;
    spread.real64(histogram::kSmallest, one.smallest)
        .real64(histogram::kLargest, one.largest)
        .real64(histogram::kNumber, std::accumulate(one.counts.begin(), one.counts.end(), 0.0))
        .real64(histogram::kSum, one.sum)
        .real64(histogram::kSumOfSquares, one.sum_of_squares)
        .reals64(histogram::kLimits, one.limits)
        .reals64(histogram::kCounts, one.counts);
    value.text(summary::kTag, support::escape_control_characters(name)).message(summary::kHistogram, spread);
    all.message(summary::kValue, value);
  }
  return make_event(at, step).message(event::kSummary, all);
}

ProtobufMessage make_picture_event(TimePoint at, int64_t step, std::string_view tag, const RenderedPicture& picture) {
  ProtobufMessage drawn, value, all;
  drawn.integer(image::kHeight, static_cast<uint64_t>(picture.height))
      .integer(image::kWidth, static_cast<uint64_t>(picture.width))
      .integer(image::kColourSpace, image::kRgb)
      .text(image::kPng, {reinterpret_cast<const char*>(picture.png.data()), picture.png.size()});
  value.text(summary::kTag, support::escape_control_characters(tag)).message(summary::kImage, drawn);
  return make_event(at, step).message(event::kSummary, all.message(summary::kValue, value));
}

TensorboardEvents::TensorboardEvents(const fs::path& folder, TimePoint now)
    : TensorboardEvents(AppendedFile(make_empty_place(folder), AppendedFile::Opening::is_new)) {
  append(make_version_event(now));
  append(make_session_start_event(now));
  put_in_place(folder, now);
}

std::optional<TensorboardEvents> TensorboardEvents::resume(const fs::path& from, int64_t records,
                                                           const fs::path& folder, TimePoint now) {
  constexpr size_t kChunk = size_t{1} << 16;  // approximate bytes per write
  const auto earlier = find_events_file(from);
  if (!earlier || records < 1) return std::nullopt;
  std::optional<support::FileStream> stream;
  try {
    stream.emplace(*earlier, support::ExpectedFile{support::ErrorKind::system});
  } catch (const support::Error&) {
    return std::nullopt;
  }
  TensorboardEvents events(AppendedFile(make_empty_place(folder), AppendedFile::Opening::is_new));
  for (std::string piece; events.records_ < records; ++events.records_) {
    const auto record = read_framed_record(*stream);
    if (!record) return std::nullopt;
    piece += *record;
    if (piece.size() < kChunk && events.records_ + 1 < records) continue;
    events.file_.append(piece);
    piece.clear();
  }
  put_in_place(folder, now);
  return events;
}

void TensorboardEvents::append(const HistoryLine& line, const std::vector<std::string>& losses, TimePoint at) {
  if (line.metrics.empty()) return;
  NamedMetrics tagged = line.metrics;
  for (auto& [name, value] : tagged)
    if (is_mean_over_epoch(line.event, name, losses)) name += "_epoch";
  append(make_scalars_event(at, line.step, tagged));
}

void TensorboardEvents::append(const ProtobufMessage& event) {
  file_.append(frame_record(event.bytes()));
  ++records_;
}

std::optional<fs::path> find_events_file(const fs::path& folder) {
  const std::vector<fs::path> files = list_events_files(folder);
  if (files.empty()) return std::nullopt;
  return files.back();
}

}  // namespace tenon::artifacts
