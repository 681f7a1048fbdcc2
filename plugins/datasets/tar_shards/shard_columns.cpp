#include "plugins/datasets/tar_shards/shard_columns.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "framework/formats/unicode.h"
#include "plugins/datasets/shared/npy.h"

namespace tar_shards {
namespace {

constexpr uint64_t kMaxLabel = uint64_t{4} << 10;
constexpr uint64_t kMaxJson = uint64_t{1} << 20;

std::string describe_array(int32_t dtype, size_t rank) {
  return std::string(tenon::dtype_name(dtype)) + " with " + std::to_string(rank) +
         (rank == 1 ? " dimension" : " dimensions");
}

std::string_view peek_text(TarReader& reader, const TarMember& member, uint64_t most, const std::string& place) {
  if (member.size > most) {
    throw tenon::DataError(place + ": has " + std::to_string(member.size) + " bytes; expected " + std::to_string(most) +
                           " at most");
  }
  const std::span<const uint8_t> bytes = reader.peek(member, member.size);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void ImageColumn::add(const TarMember& member, uint8_t alternative) {
  stored_.push_back({member.content, member.size, alternative});
}

void ArrayColumn::add(TarReader& reader, const TarMember& member, uint8_t alternative, const std::string& place) {
  const uint64_t offset = datasets::npy_data_offset(reader.peek(member, datasets::kNpyStart), member.size, place);
  const datasets::NpyHeader header = datasets::read_npy_header(reader.peek(member, offset), member.size, place);
  constexpr size_t kMostDimensions = 64;  // the limit of the host
  if (header.shape.size() > kMostDimensions) {
    throw tenon::DataError(place + ": has " + std::to_string(header.shape.size()) + " dimensions; expected at most " +
                           std::to_string(kMostDimensions));
  }
  if (stored_.empty()) {
    dtype_ = header.dtype;
    first_ = header.shape;
  }
  if (header.dtype != dtype_ || header.shape.size() != first_.size()) {
    throw tenon::DataError(place + ": holds " + describe_array(header.dtype, header.shape.size()) + "; expected " +
                           describe_array(dtype_, first_.size()) + ", as in the samples before");
  }
  if (extents_.empty() && header.shape != first_) {
    for (size_t i = 0; i < stored_.size(); ++i) extents_.insert(extents_.end(), first_.begin(), first_.end());
  }
  if (!extents_.empty()) extents_.insert(extents_.end(), header.shape.begin(), header.shape.end());
  stored_.push_back({member.content + offset, member.size - offset, alternative});
}

std::vector<int64_t> ArrayColumn::shape() const {
  std::vector<int64_t> shape = first_;
  for (size_t i = 0; i < extents_.size(); ++i) {
    int64_t& extent = shape[i % shape.size()];
    if (extent != extents_[i]) extent = -1;
  }
  std::replace(shape.begin(), shape.end(), int64_t{0},
               int64_t{-1});  // a sample may have an extent of 0, a field may not
  return shape;
}

std::vector<int64_t> ArrayColumn::shape_of(size_t sample) const {
  if (extents_.empty()) return first_;
  const auto begin = extents_.begin() + static_cast<std::ptrdiff_t>(sample * first_.size());
  return {begin, begin + static_cast<std::ptrdiff_t>(first_.size())};
}

LabelColumn::LabelColumn(const ShardField& field, const std::vector<std::string>& classes) : json_key_(field.json_key) {
  for (const std::string& name : classes) {
    if (classes_.emplace(formats::clean_name(name), static_cast<int64_t>(classes_.size())).second) continue;
    throw tenon::Error(TENON_INVALID_ARGUMENT,
                       "parameter \"classes\" has \"" + name + "\" twice; expected each class once");
  }
}

void LabelColumn::add(TarReader& reader, const TarMember& member, const std::string& place) {
  if (!json_key_.empty()) {
    numbers_.push_back(read_json(peek_text(reader, member, kMaxJson, place), place));
    return;
  }
  const std::string text(formats::trim(peek_text(reader, member, kMaxLabel, place)));
  if (!classes_.empty()) {
    numbers_.push_back(number_of_class(text, place));
    return;
  }
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw tenon::DataError(place + ": holds \"" + printable(text.substr(0, 40)) +
                           "\"; expected a whole number; for names, list them in the parameter \"classes\"");
  }
  numbers_.push_back(number);
}

int64_t LabelColumn::read_json(std::string_view text, const std::string& place) const {
  using nlohmann::json;
  const json object = json::parse(text.begin(), text.end(), nullptr, false);
  if (!object.is_object()) throw tenon::DataError(place + ": is not a JSON object");
  const auto found = object.find(json_key_);
  if (found == object.end()) throw tenon::DataError(place + ": has no key \"" + json_key_ + "\"");
  if (!classes_.empty() && found->is_string()) return number_of_class(found->get<std::string>(), place);
  const bool is_in_range = found->is_number_integer() &&
                           !(found->is_number_unsigned() && found->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX));
  if (classes_.empty() && is_in_range) return found->get<int64_t>();
  throw tenon::DataError(
      place + ": its \"" + json_key_ + "\" is a value of type " + found->type_name() + "; expected " +
      (classes_.empty() ? "a whole number; for names, list them in the parameter \"classes\"" : "the name of a class"));
}

int64_t LabelColumn::number_of_class(const std::string& name, const std::string& place) const {
  const auto found = classes_.find(formats::clean_name(name));
  if (found != classes_.end()) return found->second;
  throw tenon::DataError(place + ": \"" + printable(name.substr(0, 40)) + "\" is none of the " +
                         std::to_string(classes_.size()) + " classes that the parameter \"classes\" lists");
}

}  // namespace tar_shards
