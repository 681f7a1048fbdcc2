#include "plugins/datasets/tar_shards/shard_fields.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <tenon/error.hpp>

#include "plugins/datasets/shared/image_names.h"

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
  for (size_t begin = 0; begin <= rest.size();) {
    const size_t end = std::min(rest.find(';', begin), rest.size());
    field.extensions.emplace_back(rest.substr(begin, end - begin));
    const std::optional<Kind> found = kind_of(field.extensions.back(), !field.json_key.empty());
    if (!found || (kind && found != kind)) {
      refuse(text, "\"" + field.extensions.back() +
                       "\" cannot be read; expected images (jpg, png, webp, tif, ...), npy, cls or json:KEY, and "
                       "alternatives of one kind");
    }
    kind = found;
    begin = end + 1;
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

}  // namespace

std::string ShardField::describe_members() const {
  std::string text;
  for (const std::string& extension : extensions) text += (text.empty() ? "a ." : " or a .") + extension;
  return text;
}

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

}  // namespace tar_shards
