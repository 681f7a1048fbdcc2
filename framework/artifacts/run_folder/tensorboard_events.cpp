#include "framework/artifacts/run_folder/tensorboard_events.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <system_error>

#include "framework/support/digests/crc32c.h"
#include "framework/support/files/files.h"
#include "framework/support/files/read_file.h"
#include "framework/support/text/format.h"
#include "framework/support/text/printable.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "events.out.tfevents.";
constexpr size_t kSecondsDigits = 10;
constexpr const char* kBegun = "events.begun";

// The field numbers of event.proto, summary.proto, tensor.proto and struct.proto, and of plugin_data.proto and
// api.proto of the HParams plugin.
constexpr uint32_t kEventWallTime = 1, kEventStep = 2, kEventFileVersion = 3, kEventSummary = 5, kEventSessionLog = 7,
                   kEventSourceMetadata = 10;
constexpr uint32_t kSessionLogStatus = 1, kSourceMetadataWriter = 1;
constexpr uint64_t kSessionLogStart = 1;
constexpr uint32_t kSummaryValue = 1, kSummaryTag = 1, kSummarySimpleValue = 2, kSummaryImage = 4,
                   kSummaryHistogram = 5, kSummaryTensor = 8, kSummaryMetadata = 9, kSummaryPluginData = 1,
                   kSummaryDataClass = 4, kSummaryPluginName = 1, kSummaryContent = 2;
constexpr uint64_t kSummaryTensorClass = 2;
constexpr uint32_t kImageHeight = 1, kImageWidth = 2, kImageColourSpace = 3, kImagePng = 4;
constexpr uint64_t kImageRgb = 3;
constexpr uint32_t kHistogramSmallest = 1, kHistogramLargest = 2, kHistogramNumber = 3, kHistogramSum = 4,
                   kHistogramSumOfSquares = 5, kHistogramLimits = 6, kHistogramCounts = 7;
constexpr uint32_t kTensorDtype = 1, kTensorShape = 2, kTensorStringValue = 8, kTensorDim = 2, kTensorSize = 1;
constexpr uint64_t kTensorFloat = 1, kTensorString = 7;
constexpr uint32_t kHparamsSessionStart = 3, kHparamsSessionEnd = 4, kHparamsHparams = 1, kHparamsStartTime = 5,
                   kHparamsKey = 1, kHparamsValue = 2, kHparamsStatus = 1, kHparamsEndTime = 2, kHparamsNumber = 2,
                   kHparamsText = 3, kHparamsTruth = 4;
constexpr uint64_t kHparamsSuccess = 1, kHparamsFailure = 2, kHparamsRunning = 3;

constexpr size_t kHeader = sizeof(uint64_t) + sizeof(uint32_t);
constexpr size_t kFooter = sizeof(uint32_t);
constexpr uint64_t kMaxLength = uint64_t{1} << 30;  // events are shorter; longer records are never allocated

// A CRC over data that contains CRCs is weak, so stored CRCs are masked.
uint32_t masked_crc32c(std::string_view data) {
  const uint32_t crc = support::crc32c(std::as_bytes(std::span(data)));
  return (crc >> 15 | crc << 17) + 0xA282EAD8;
}

std::string frame_header(uint64_t length) {
  std::string header;
  append_little_endian(header, length);
  append_little_endian(header, masked_crc32c(header));
  return header;
}

// A double cannot represent all nanoseconds since 1970, so the seconds and their fraction are added separately.
double to_seconds(TimePoint moment) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(moment);
  return static_cast<double>(whole.time_since_epoch().count()) + std::chrono::duration<double>(moment - whole).count();
}

ProtobufMessage make_event(TimePoint at, int64_t step = 0) {
  ProtobufMessage message;
  message.real64(kEventWallTime, to_seconds(at));
  if (step != 0) message.integer(kEventStep, static_cast<uint64_t>(step));
  return message;
}

// Metadata for a TensorBoard plugin. `content` is a message that the plugin defines.
ProtobufMessage make_metadata(std::string_view plugin, const ProtobufMessage* content) {
  ProtobufMessage data;
  data.text(kSummaryPluginName, plugin);
  if (content) data.message(kSummaryContent, *content);
  ProtobufMessage metadata;
  metadata.message(kSummaryPluginData, data).integer(kSummaryDataClass, kSummaryTensorClass);
  return metadata;
}

// A value of a summary, without its content.
ProtobufMessage make_value(std::string_view tag) {
  ProtobufMessage value;
  return value.text(kSummaryTag, support::escape_control_characters(tag));
}

ProtobufMessage make_tensor_summary(std::string_view tag, const ProtobufMessage& tensor,
                                    const ProtobufMessage& metadata) {
  ProtobufMessage all;
  return all.message(kSummaryValue,
                     make_value(tag).message(kSummaryTensor, tensor).message(kSummaryMetadata, metadata));
}

// A vector [size] of a dtype. A size of 0 is the proto3 default and omitted.
ProtobufMessage make_vector(uint64_t dtype, uint64_t size) {
  ProtobufMessage dim, shape, vector;
  if (size != 0) dim.integer(kTensorSize, size);
  shape.message(kTensorDim, dim);
  return vector.integer(kTensorDtype, dtype).message(kTensorShape, shape);
}

ProtobufMessage make_hparams_event(TimePoint at, std::string_view tag, uint32_t field, const ProtobufMessage& info) {
  ProtobufMessage content;
  content.message(field, info);
  return make_event(at).message(
      kEventSummary, make_tensor_summary(tag, make_vector(kTensorFloat, 0), make_metadata("hparams", &content)));
}

ProtobufMessage to_struct_value(const Hyperparameter& value) {
  ProtobufMessage message;
  if (const bool* const truth = std::get_if<bool>(&value)) return message.integer(kHparamsTruth, *truth ? 1 : 0);
  if (const double* const number = std::get_if<double>(&value)) return message.real64(kHparamsNumber, *number);
  return message.text(kHparamsText, support::escape_control_characters(std::get<std::string>(value)));
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
  const std::string machine = read_machine().hostname;
  return folder / fmt::format("{}{:0{}}.{}.{}", kPrefix, seconds, kSecondsDigits, machine.empty() ? "machine" : machine,
                              ::getpid());
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
  source.text(kSourceMetadataWriter, "tenon");
  return make_event(at).text(kEventFileVersion, "brain.Event:2").message(kEventSourceMetadata, source);
}

ProtobufMessage make_session_start_event(TimePoint at) {
  ProtobufMessage log;
  log.integer(kSessionLogStatus, kSessionLogStart);
  return make_event(at).message(kEventSessionLog, log);
}

ProtobufMessage make_text_event(TimePoint at, int64_t step, std::string_view tag, std::string_view text) {
  const ProtobufMessage vector =
      make_vector(kTensorString, 1).text(kTensorStringValue, support::escape_control_characters(text));
  return make_event(at, step).message(kEventSummary, make_tensor_summary(tag, vector, make_metadata("text", nullptr)));
}

ProtobufMessage make_hyperparameters_event(TimePoint at, const Hyperparameters& values) {
  ProtobufMessage start;
  for (const auto& [key, value] : values) {
    ProtobufMessage entry;
    entry.text(kHparamsKey, support::escape_control_characters(key)).message(kHparamsValue, to_struct_value(value));
    start.message(kHparamsHparams, entry);
  }
  start.real64(kHparamsStartTime, to_seconds(at));
  return make_hparams_event(at, "_hparams_/session_start_info", kHparamsSessionStart, start);
}

ProtobufMessage make_outcome_event(TimePoint at, RunStatus status) {
  ProtobufMessage end;
  end.integer(kHparamsStatus, status == RunStatus::failed    ? kHparamsFailure
                              : status == RunStatus::running ? kHparamsRunning
                                                             : kHparamsSuccess);
  end.real64(kHparamsEndTime, to_seconds(at));
  return make_hparams_event(at, "_hparams_/session_end_info", kHparamsSessionEnd, end);
}

ProtobufMessage make_scalars_event(TimePoint at, int64_t step, const NamedMetrics& metrics) {
  ProtobufMessage all;
  for (const auto& [name, number] : metrics)
    all.message(kSummaryValue, make_value(name).real32(kSummarySimpleValue, static_cast<float>(number)));
  return make_event(at, step).message(kEventSummary, all);
}

ProtobufMessage make_histograms_event(TimePoint at, int64_t step, const std::vector<NamedHistogram>& histograms) {
  ProtobufMessage all;
  for (const auto& [name, one] : histograms) {
    ProtobufMessage spread;
    spread.real64(kHistogramSmallest, one.smallest)
        .real64(kHistogramLargest, one.largest)
        .real64(kHistogramNumber, std::accumulate(one.counts.begin(), one.counts.end(), 0.0))
        .real64(kHistogramSum, one.sum)
        .real64(kHistogramSumOfSquares, one.sum_of_squares)
        .reals64(kHistogramLimits, one.limits)
        .reals64(kHistogramCounts, one.counts);
    all.message(kSummaryValue, make_value(name).message(kSummaryHistogram, spread));
  }
  return make_event(at, step).message(kEventSummary, all);
}

ProtobufMessage make_picture_event(TimePoint at, int64_t step, std::string_view tag, const RenderedPicture& picture) {
  ProtobufMessage drawn, all;
  drawn.integer(kImageHeight, static_cast<uint64_t>(picture.height))
      .integer(kImageWidth, static_cast<uint64_t>(picture.width))
      .integer(kImageColourSpace, kImageRgb)
      .text(kImagePng, {reinterpret_cast<const char*>(picture.png.data()), picture.png.size()});
  all.message(kSummaryValue, make_value(tag).message(kSummaryImage, drawn));
  return make_event(at, step).message(kEventSummary, all);
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
  return files.empty() ? std::nullopt : std::optional(files.back());
}

std::string frame_record(std::string_view data) {
  std::string record = frame_header(data.size());
  record += data;
  append_little_endian(record, masked_crc32c(data));
  return record;
}

std::optional<std::string> read_framed_record(std::istream& stream) {
  std::string record(kHeader, '\0');
  if (!stream.read(record.data(), kHeader)) return std::nullopt;
  uint64_t length = 0;
  for (unsigned byte = 0; byte < sizeof length; ++byte)
    length |= static_cast<uint64_t>(static_cast<uint8_t>(record[byte])) << 8 * byte;
  if (length > kMaxLength || record != frame_header(length)) return std::nullopt;
  record.resize(kHeader + length + kFooter);
  if (!stream.read(record.data() + kHeader, static_cast<std::streamsize>(length + kFooter))) return std::nullopt;
  if (record != frame_record(record_data(record))) return std::nullopt;
  return record;
}

std::string_view record_data(std::string_view framed) {
  return framed.substr(kHeader, framed.size() - kHeader - kFooter);
}

}  // namespace tenon::artifacts
