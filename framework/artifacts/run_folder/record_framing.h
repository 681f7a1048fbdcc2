// The record format of TensorFlow's TFRecord files: length (uint64, little-endian), masked CRC-32C of the length, data,
// masked CRC-32C of the data. https://www.tensorflow.org/tutorials/load_data/tfrecord
#pragma once

#include <istream>
#include <optional>
#include <string>
#include <string_view>

namespace tenon::artifacts {

std::string frame_record(std::string_view data);

// Reads the next record with its frame, as stored in the file. None at the end of the file or for an incomplete record.
std::optional<std::string> read_framed_record(std::istream& stream);

// Returns the data of a record from read_framed_record().
std::string_view record_data(std::string_view framed);

}  // namespace tenon::artifacts
