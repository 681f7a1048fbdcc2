#include "plugins/datasets/tar_shards/shard_columns.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <tenon/error.hpp>

#include "framework/formats/strings.h"
#include "framework/formats/unicode.h"
#include "plugins/datasets/shared/check_fields.h"
#include "plugins/datasets/shared/list_images.h"
#include "plugins/datasets/shared/npy.h"

namespace tar_shards {
namespace {

using Kind = ShardField::Kind;

std::string_view after_last_dot(std::string_view extension) {
  const size_t dot = extension.rfind('.');
  return dot == std::string_view::npos ? extension : extension.substr(dot + 1);
}

std::optional<Kind> kind_of(std::string_view extension, bool has_key) {
  const std::string_view last = after_last_dot(extension);
  if (has_key) return last == "json" ? std::optional(Kind::label) : std::nullopt;
  if (datasets::is_image_extension(last)) return Kind::image;
  if (last == "npy") return Kind::array;
  if (last == "cls") return Kind::label;
  return std::nullopt;
}

std::string default_name(const ShardField& field) {
  const std::string& extension = field.extensions.front();
  const size_t dot = extension.rfind('.');
  if (!field.json_key.empty()) return field.json_key;
  if (dot != std::string::npos) return extension.substr(0, dot);
  if (field.kind == Kind::image) return "image";
  return field.kind == Kind::label ? "label" : "array";
}

[[noreturn]] void refuse(const std::string& text, const std::string& what) {
  throw tenon::Error(TENON_INVALID_ARGUMENT, "parameter \"fields\" has \"" + text + "\": " + what);
}

ShardField parse_field(const std::string& text) {
  ShardField field;
  std::string_view rest = text;
  if (const size_t equals = rest.find('='); equals != std::string_view::npos) {
    field.name = rest.substr(0, equals);
    if (field.name.empty()) refuse(text, "it has no name before \"=\"; expected for example \"image=jpg\"");
    rest.remove_prefix(equals + 1);
  }
  if (const size_t colon = rest.find(':'); colon != std::string_view::npos) {
    field.json_key = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (field.json_key.empty()) refuse(text, "it has no key after \":\"; expected for example \"label=json:category\"");
  }
  std::optional<Kind> kind;
  for (const std::string_view extension : formats::split(rest, ';')) {
    field.extensions.emplace_back(extension);
    const std::optional<Kind> found = kind_of(field.extensions.back(), !field.json_key.empty());
    if (!found || (kind && found != kind)) {
      refuse(text, "\"" + field.extensions.back() +
                       "\" cannot be read; expected images (jpg, png, webp, tif, ...), npy, cls or json:KEY, and "
                       "alternatives of one kind");
    }
    kind = found;
  }
  field.kind = *kind;
  if (field.name.empty()) field.name = default_name(field);
  return field;
}

void append(ShardField field, const std::string& text, std::vector<ShardField>& fields) {
  for (const ShardField& other : fields) {
    if (other.name != field.name) continue;
    refuse(text, "it would be named \"" + field.name + "\", like another field; give it a name: \"NAME=" + text + "\"");
  }
  fields.push_back(std::move(field));
}

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

std::string ShardField::describe_members() const { return "a ." + formats::join(extensions, " or a ."); }

std::vector<ShardField> parse_fields(const std::vector<std::string>& texts) {
  std::vector<ShardField> fields;
  for (const std::string& text : texts) append(parse_field(text), text, fields);
  return fields;
}

std::vector<ShardField> guess_fields(const std::vector<std::string>& extensions) {
  std::vector<ShardField> fields;
  for (const std::string& extension : extensions) {
    const std::optional<Kind> kind = kind_of(extension, false);
    if (!kind) continue;
    ShardField field = {"", *kind, {extension}};
    field.name = default_name(field);
    append(std::move(field), extension, fields);
  }
  return fields;
}

NamedClasses read_class_names(TarReader& reader, const TarMember& member, const std::string& place) {
  using nlohmann::json;
  constexpr uint64_t kMost = uint64_t{64} << 20;
  const auto refuse = [&](const char* what) {
    throw tenon::DataError(place + ": " + what +
                           "; expected a JSON object with a list of names for each field, as host pack writes it; "
                           "pack the dataset again");
  };
  if (member.size > kMost) refuse("has more than 64 MiB");
  const std::span<const uint8_t> bytes = reader.peek(member, member.size);
  const json object = json::parse(bytes.begin(), bytes.end(), nullptr, false);
  if (!object.is_object()) refuse("is not a JSON object");
  NamedClasses classes;
  for (const auto& [field, names] : object.items()) {
    const bool are_names =
        names.is_array() && std::all_of(names.begin(), names.end(), [](const json& name) { return name.is_string(); });
    if (!are_names) refuse("has an entry that is not a list of names");
    classes[field] = names.get<std::vector<std::string>>();
  }
  return classes;
}

void ImageColumn::add(const TarMember& member, uint8_t alternative) {
  stored_.push_back({member.content, member.size, alternative});
}

void ArrayColumn::add(TarReader& reader, const TarMember& member, uint8_t alternative, const std::string& place) {
  const uint64_t offset = datasets::npy_data_offset(reader.peek(member, datasets::kNpyStart), member.size, place);
  const datasets::NpyHeader header = datasets::read_npy_header(reader.peek(member, offset), member.size, place);
  datasets::check_dimensions(header.shape.size(), place);
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
  // A sample may have an extent of 0, a field may not.
  std::replace(shape.begin(), shape.end(), int64_t{0}, int64_t{-1});
  return shape;
}

std::vector<int64_t> ArrayColumn::shape_of(size_t sample) const {
  if (extents_.empty()) return first_;
  const auto begin = extents_.begin() + static_cast<std::ptrdiff_t>(sample * first_.size());
  return {begin, begin + static_cast<std::ptrdiff_t>(first_.size())};
}

LabelColumn::LabelColumn(const ShardField& field, const std::vector<std::string>& classes)
    : json_key_(field.json_key), classes_(tables::number_names(classes)) {}

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
  const std::optional<int64_t> number = formats::parse_number<int64_t>(text);
  if (!number) {
    throw tenon::DataError(place + ": holds \"" + printable(text.substr(0, 40)) +
                           "\"; expected a whole number; for names, list them in the parameter \"classes\"");
  }
  numbers_.push_back(*number);
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
