// The TensorBoard events file of a run: metrics as scalars, and the plan as text and hyperparameters.
#pragma once

#include <bit>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <istream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/artifacts/drawing/render_samples.h"
#include "framework/artifacts/run_folder/histogram.h"
#include "framework/artifacts/run_folder/history.h"
#include "framework/artifacts/run_folder/hyperparameters.h"
#include "framework/artifacts/run_folder/run_record.h"

namespace tenon::artifacts {

template <class Integer>
void append_little_endian(std::string& bytes, Integer value) {
  for (unsigned byte = 0; byte < sizeof value; ++byte) bytes += static_cast<char>(value >> 8 * byte & 0xFF);
}

// Encodes a message of Protocol Buffers: https://protobuf.dev/programming-guides/encoding. Writes fields in the order
// of the calls. Default values are written too. proto3 omits them outside of a oneof.
class ProtobufMessage {
 public:
  // Adds an int64 (not negative), enum or bool.
  ProtobufMessage& integer(uint32_t field, uint64_t value) {
    key(field, WireType::varint);
    varint(value);
    return *this;
  }
  ProtobufMessage& real64(uint32_t field, double value) {  // double
    key(field, WireType::fixed64);
    append_little_endian(bytes_, std::bit_cast<uint64_t>(value));
    return *this;
  }
  // Adds a packed repeated double.
  ProtobufMessage& reals64(uint32_t field, std::span<const double> values) {
    ProtobufMessage packed;
    for (const double value : values) append_little_endian(packed.bytes_, std::bit_cast<uint64_t>(value));
    return text(field, packed.bytes_);
  }
  ProtobufMessage& real32(uint32_t field, float value) {  // float
    key(field, WireType::fixed32);
    append_little_endian(bytes_, std::bit_cast<uint32_t>(value));
    return *this;
  }
  // Adds a string, which REQUIRES UTF-8, or bytes.
  ProtobufMessage& text(uint32_t field, std::string_view value) {
    key(field, WireType::length_delimited);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  ProtobufMessage& message(uint32_t field, const ProtobufMessage& value) { return text(field, value.bytes()); }

  const std::string& bytes() const { return bytes_; }

 private:
  enum class WireType : uint32_t { varint = 0, fixed64 = 1, length_delimited = 2, fixed32 = 5 };

  void key(uint32_t field, WireType type) { varint(field << 3 | static_cast<uint32_t>(type)); }

  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

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

// The record format of TensorFlow's TFRecord files: length (uint64, little-endian), masked CRC-32C of the length, data,
// masked CRC-32C of the data. https://www.tensorflow.org/tutorials/load_data/tfrecord

std::string frame_record(std::string_view data);

// Reads the next record with its frame, as stored in the file. None at the end of the file or for an incomplete record.
std::optional<std::string> read_framed_record(std::istream& stream);

// Returns the data of a record from read_framed_record().
std::string_view record_data(std::string_view framed);

}  // namespace tenon::artifacts
