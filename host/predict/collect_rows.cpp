// The rows of all processes on the first one.
#include <ATen/ATen.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "framework/pipeline/state/saved_state.h"
#include "host/predict/predicted_rows.h"

namespace tenon::host {

namespace {

using nlohmann::json;

// What a tensor of a message is.
enum class Part { column, top_classes, top_probabilities, mask, field, shapes, field_shapes };

struct PackedTensor {
  Part part;
  std::string name;
  at::Tensor tensor;
};

std::vector<PackedTensor> list_tensors(const PredictedRows& rows) {
  std::vector<PackedTensor> all;
  for (const auto& [name, tensor] : rows.tensors) all.push_back({Part::column, name, tensor});
  if (rows.top) {
    all.push_back({Part::top_classes, "", rows.top->classes});
    all.push_back({Part::top_probabilities, "", rows.top->probabilities});
  }
  if (rows.mask.defined()) all.push_back({Part::mask, "", rows.mask});
  for (const auto& [name, tensor] : rows.fields) all.push_back({Part::field, name, tensor});
  for (const auto& [name, tensor] : rows.shapes) all.push_back({Part::shapes, name, tensor});
  for (const auto& [name, tensor] : rows.field_shapes) all.push_back({Part::field_shapes, name, tensor});
  return all;
}

void take_tensor(PackedTensor given, PredictedRows& rows) {
  switch (given.part) {
    case Part::column: rows.tensors.emplace_back(std::move(given.name), std::move(given.tensor)); return;
    case Part::top_classes: rows.top.emplace().classes = std::move(given.tensor); return;
    case Part::top_probabilities: rows.top->probabilities = std::move(given.tensor); return;
    case Part::mask: rows.mask = std::move(given.tensor); return;
    case Part::shapes: rows.shapes[given.name] = std::move(given.tensor); return;
    case Part::field_shapes: rows.field_shapes[given.name] = std::move(given.tensor); return;
    case Part::field: rows.fields.emplace_back(std::move(given.name), std::move(given.tensor)); return;
  }
}

// A message is the length of its header, the header as JSON, and the elements of the tensors.
std::string pack_rows(const PredictedRows& rows) {
  json header{{"names", rows.names}, {"is_stopped", rows.is_stopped}};
  header["class_names"] = rows.class_names;
  header["texts"] = json::array();
  for (const reporting::TextColumn& column : rows.texts) header["texts"].push_back({column.name, column.rows});
  std::string elements;
  header["tensors"] = json::array();
  for (const PackedTensor& packed : list_tensors(rows)) {
    const at::Tensor& tensor = packed.tensor;
    header["tensors"].push_back(
        {static_cast<int>(packed.part), packed.name, static_cast<int>(tensor.scalar_type()), tensor.sizes().vec()});
    elements.append(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
  }
  const std::string text = header.dump();
  const uint64_t length = text.size();
  std::string message(sizeof length, '\0');
  std::memcpy(message.data(), &length, sizeof length);
  return message + text + elements;
}

PredictedRows unpack_rows(std::string_view message) {
  uint64_t length = 0;
  std::memcpy(&length, message.data(), sizeof length);
  const json header = json::parse(message.substr(sizeof length, length));
  const char* data = message.data() + sizeof length + length;
  PredictedRows rows;
  rows.names = header["names"].get<std::vector<std::string>>();
  rows.class_names = header["class_names"].get<config::ClassNames>();
  rows.is_stopped = header["is_stopped"].get<bool>();
  for (const json& column : header["texts"])
    rows.texts.push_back({column[0].get<std::string>(), column[1].get<std::vector<std::string>>()});
  for (const json& described : header["tensors"]) {
    at::Tensor tensor =
        at::empty(described[3].get<std::vector<int64_t>>(), static_cast<at::ScalarType>(described[2].get<int>()));
    std::memcpy(tensor.mutable_data_ptr(), data, tensor.nbytes());
    data += tensor.nbytes();
    take_tensor({static_cast<Part>(described[0].get<int>()), described[1].get<std::string>(), std::move(tensor)}, rows);
  }
  return rows;
}

}  // namespace

std::vector<PredictedRows> collect_rows(PredictedRows rows, distributed::ProcessGroup& group) {
  std::vector<PredictedRows> all;
  if (group.is_single()) {
    all.push_back(std::move(rows));
    return all;
  }
  const at::Tensor message = pipeline::to_byte_tensor(pack_rows(rows));
  const at::Tensor lengths = group.concatenate(at::tensor({message.size(0)}, at::kLong));
  const at::Tensor messages = group.concatenate(message);
  int64_t begin = 0;
  bool is_stopped = false;
  for (int64_t rank = 0; rank < group.size(); ++rank) {
    const int64_t length = lengths[rank].item<int64_t>();
    PredictedRows of_rank = unpack_rows(pipeline::to_bytes(messages.narrow(0, begin, length).contiguous()));
    begin += length;
    is_stopped = is_stopped || of_rank.is_stopped;
    if (group.rank() == 0 || group.rank() == rank) all.push_back(std::move(of_rank));
  }
  for (PredictedRows& of_rank : all) of_rank.is_stopped = is_stopped;
  return all;
}

}  // namespace tenon::host
