// The records of TensorFlow's TFRecord files: length (uint64, little-endian), masked CRC-32C of the length, data,
// masked CRC-32C of the data. https://www.tensorflow.org/tutorials/load_data/tfrecord
#pragma once

#include <istream>
#include <optional>
#include <string>
#include <string_view>

namespace tenon::artifacts {

std::string frame_record(std::string_view data);

// The next record with its frame, as it stands in the file. None at the end, and where what follows is no whole record.
std::optional<std::string> read_framed_record(std::istream& stream);

// The data in what read_framed_record() gave.
std::string_view record_data(std::string_view framed);

}  // namespace tenon::artifacts
