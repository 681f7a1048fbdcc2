#include "framework/artifacts/checkpoint/safetensors_layout.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "framework/formats/safetensors_header.h"
#include "framework/formats/safetensors_limits.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::artifacts {

static_assert(std::endian::native == std::endian::little, "tensors are written as memory holds them: little-endian");

namespace {

[[noreturn]] void refuse_layout(const std::filesystem::path& file, const std::string& message) {
  throw support::Error(support::ErrorKind::internal, file.string() + ": " + message);
}

std::string to_json(const std::string& text, const std::filesystem::path& file) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    refuse_layout(file, "the name or metadata " + quote_name(text) + " is not UTF-8");
  }
}

void check_tensors(std::span<const TensorView> tensors, const std::filesystem::path& file) {
  if (tensors.size() > formats::kMaxSafetensors) {
    refuse_layout(file, std::to_string(tensors.size()) + " tensors; a file holds at most " +
                            std::to_string(formats::kMaxSafetensors));
  }
  std::unordered_set<std::string_view> names;
  for (const auto& tensor : tensors) {
    const std::string place = "tensor " + quote_name(tensor.name);
    const StoredType* type = find_stored_type(tensor.dtype);
    if (!type) {
      refuse_layout(file, place + ": its type (" + std::to_string(tensor.dtype) + ") cannot be stored; expected " +
                              std::string(list_stored_types()) + "; complex tensors are not supported");
    }
    const auto expected = count_bytes(tensor.shape, type->bytes);
    if (expected != tensor.bytes) {
      refuse_layout(file, place + " has " + std::to_string(tensor.bytes) + " bytes; expected " +
                              (expected ? std::to_string(*expected) : "a possible shape") + " of its type and shape");
    }
    if (const auto error = find_name_error(tensor.name)) refuse_layout(file, place + ": " + *error);
    if (!names.insert(tensor.name).second) refuse_layout(file, place + " occurs twice");
  }
}

std::vector<const TensorView*> order_by_alignment(std::span<const TensorView> tensors) {
  std::vector<const TensorView*> order;
  for (const auto& tensor : tensors) order.push_back(&tensor);
  std::ranges::stable_sort(order, std::greater(),
                           [](const TensorView* tensor) { return find_stored_type(tensor->dtype)->bytes; });
  return order;
}

std::string make_header(std::span<const TensorView> tensors, const std::map<const TensorView*, uint64_t>& begins,
                        const Metadata& metadata, const std::filesystem::path& file) {
  std::string header = "{";
  const auto start_member = [&] {
    if (!header.ends_with('{')) header += ',';
  };
  if (!metadata.empty()) {
    header += "\"" + std::string(formats::kMetadataKey) + "\":{";
    for (const auto& [key, value] : metadata) {
      start_member();
      header += to_json(key, file) + ":" + to_json(value, file);
    }
    header += '}';
  }
  for (const auto& tensor : tensors) {
    const uint64_t begin = begins.at(&tensor);
    start_member();
    header += to_json(tensor.name, file) + ":{\"dtype\":\"" + std::string(find_stored_type(tensor.dtype)->name) +
              "\",\"shape\":" + nlohmann::json(tensor.shape).dump() + ",\"data_offsets\":[" + std::to_string(begin) +
              "," + std::to_string(begin + tensor.bytes) + "]}";
  }
  header += '}';
  header.resize((header.size() + 7) / 8 * 8, ' ');
  if (header.size() > formats::kLargestSafetensorsHeader) {
    refuse_layout(file, "the header has " + std::to_string(header.size()) + " bytes; the format allows " +
                            std::to_string(formats::kLargestSafetensorsHeader));
  }
  return header;
}

}  // namespace

SafetensorsLayout lay_out_safetensors(const std::filesystem::path& file, std::span<const TensorView> tensors,
                                      const Metadata& metadata) {
  check_tensors(tensors, file);
  SafetensorsLayout layout;
  layout.order = order_by_alignment(tensors);
  std::map<const TensorView*, uint64_t> begins;
  for (const TensorView* tensor : layout.order) {
    begins[tensor] = layout.data_bytes;
    layout.data_bytes += tensor->bytes;
  }
  const std::string header = make_header(tensors, begins, metadata, file);
  const auto length = std::bit_cast<std::array<char, 8>>(uint64_t{header.size()});
  layout.head = std::string(length.data(), length.size()) + header;
  return layout;
}

}  // namespace tenon::artifacts
