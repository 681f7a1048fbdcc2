#include "framework/artifacts/checkpoint/checkpoint_manifest.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>

#include "framework/artifacts/checkpoint/tensor_view.h"
#include "framework/artifacts/checkpoint/weights_metadata.h"
#include "framework/formats/json_depth.h"
#include "framework/formats/strings.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::json;

constexpr int64_t kFormatVersion = 1;
constexpr int kDeepest = 4;

// Finds a key that an object has twice. Json would keep the last one.
class RepeatedKey final : public nlohmann::json_sax<Json> {
 public:
  const std::optional<std::string>& found() const { return found_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t, const std::string&, const Json::exception&) override { return false; }

  bool start_object(size_t) override {
    keys_.emplace_back();
    return true;
  }
  bool key(string_t& key) override {
    if (keys_.back().insert(key).second) return true;
    found_ = key;
    return false;
  }
  bool end_object() override {
    keys_.pop_back();
    return true;
  }

 private:
  std::vector<std::set<std::string>> keys_;  // of the open objects
  std::optional<std::string> found_;
};

Json parse_strictly(std::string_view text, const fs::path& file) {
  if (formats::is_nested_deeper(text, kDeepest)) refuse_checkpoint(file, "nests deeper than a manifest can");
  // The parser treats a zero byte as the end of the text and would ignore the rest.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos)
    refuse_checkpoint(file, "is not JSON: it has a zero byte at byte {}", zero + 1);
  try {
    RepeatedKey repeated;
    Json::sax_parse(text.begin(), text.end(), &repeated);
    if (repeated.found()) refuse_checkpoint(file, "has the key {} twice", quote_name(*repeated.found()));
    return Json::parse(text.begin(), text.end());
  } catch (const Json::exception& error) {
    refuse_checkpoint(file, "is not JSON: {}", error.what());
  }
}

const Json& find(const Json& object, const char* key, const fs::path& file) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end()) refuse_checkpoint(file, "has no {}", key);
  return *found;
}

[[noreturn]] void refuse_value(const Json& value, const char* key, const std::string& expected, const fs::path& file) {
  const std::string found = quote_name(value.dump(-1, ' ', false, Json::error_handler_t::replace));
  refuse_checkpoint(file, "{} is {}; expected {}", key, found, expected);
}

const Json& find(const Json& object, const char* key, Json::value_t type, const fs::path& file) {
  const Json& found = find(object, key, file);
  if (found.type() != type) refuse_value(found, key, Json(type).type_name(), file);
  return found;
}

std::string find_text(const Json& object, const char* key, const fs::path& file) {
  return find(object, key, Json::value_t::string, file).get<std::string>();
}

bool is_count(const Json& value) {
  return value.is_number_unsigned() && value.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX);
}

uint64_t find_count(const Json& object, const char* key, const fs::path& file) {
  const Json& found = find(object, key, file);
  if (!is_count(found)) refuse_value(found, key, "a whole number from 0 to 2^63 - 1", file);
  return found.get<uint64_t>();
}

// Returns the digest of what `name` says.
std::string find_xxh128(const Json& entry, const std::string& name, const fs::path& file) {
  const std::string digest = find_text(entry, "xxh128", file);
  if (digest.size() != 32 || digest.find_first_not_of("0123456789abcdef") != std::string::npos)
    refuse_checkpoint(file, "the xxh128 of {} is {}; expected 32 digits", name, quote_name(digest));
  return digest;
}

CheckpointFile read_file_entry(const Json& entry, const fs::path& file) {
  CheckpointFile result{find_text(entry, "name", file), find_count(entry, "bytes", file), ""};
  const std::string& name = result.name;
  if (name.empty() || name[0] == '.' || name.find_first_of(std::string_view("/\0", 2)) != std::string::npos)
    refuse_checkpoint(file, "names the file {}; expected a file within the checkpoint folder", quote_name(name));
  result.xxh128 = find_xxh128(entry, name, file);
  return result;
}

ExcludedTensor read_excluded(const Json& entry, const fs::path& file) {
  ExcludedTensor tensor{find_text(entry, "name", file), 0, {}, {}};
  const std::string name = quote_name(tensor.name), dtype = find_text(entry, "dtype", file);
  const StoredType* const type = find_stored_type(dtype);
  if (!type)
    refuse_checkpoint(file, "the dtype of {} is {}; expected {}", name, quote_name(dtype), list_stored_types());
  tensor.dtype = type->dtype;
  for (const Json& size : find(entry, "shape", Json::value_t::array, file)) {
    if (!is_count(size))
      refuse_checkpoint(file, "the shape of {} has {}; expected whole numbers from 0 to 2^63 - 1", name,
                        quote_name(size.dump()));
    tensor.shape.push_back(size.get<int64_t>());
  }
  tensor.xxh128 = find_xxh128(entry, name, file);
  return tensor;
}

std::string format_excluded(const std::vector<ExcludedTensor>& tensors) {
  std::string text;
  for (const ExcludedTensor& tensor : tensors)
    text += fmt::format("{}\n    {{\"name\": {}, \"dtype\": \"{}\", \"shape\": [{}], \"xxh128\": \"{}\"}}",
                        text.empty() ? "" : ",", format_json_string(tensor.name), find_stored_type(tensor.dtype)->name,
                        formats::join(tensor.shape), tensor.xxh128);
  return "[" + text + "\n  ]";
}

double read_metric(const std::string& name, const Json& value, const fs::path& file) {
  if (value.is_number()) return value.get<double>();
  try {
    return parse_not_finite(value.is_string() ? value.get<std::string>() : std::string(value.type_name()));
  } catch (const std::invalid_argument& error) {
    refuse_checkpoint(file, "the metric {} is {}", quote_name(name), error.what());
  }
}

// Formats pairs of a name and a number as an object.
template <class Numbers>
std::string format_numbers(const Numbers& numbers) {
  std::string text = "{";
  for (const auto& [name, value] : numbers)
    text +=
        fmt::format("{}\n    {}: {}", text.size() == 1 ? "" : ",", format_json_string(name), format_json_number(value));
  return text + (numbers.empty() ? "}" : "\n  }");
}

}  // namespace

std::string format_checkpoint_manifest(const CheckpointManifest& manifest) {
  std::string files;
  for (const auto& file : manifest.files)
    files += fmt::format("{}\n    {{\"name\": {}, \"bytes\": {}, \"xxh128\": \"{}\"}}", files.empty() ? "" : ",",
                         format_json_string(file.name), file.bytes, file.xxh128);
  std::string text = fmt::format(
      "{{\n  \"format\": \"tenon-checkpoint\",\n  \"format_version\": {},\n  \"epoch\": {},\n  \"step\": {},\n  "
      "\"files\": [{}\n  ],\n  \"metrics\": {}",
      kFormatVersion, manifest.epoch, manifest.step, files, format_numbers(manifest.metrics));
  const auto add = [&text](const char* key, const std::string& value) {
    text += fmt::format(",\n  \"{}\": {}", key, value);
  };
  if (!manifest.class_names.empty()) add(kClassNames, format_class_names(manifest.class_names));
  if (!manifest.excluded.empty()) add(kExcludedFrozenParameters, format_excluded(manifest.excluded));
  if (!manifest.state.empty()) add("state", format_numbers(manifest.state));
  return text + "\n}\n";
}

CheckpointManifest parse_checkpoint_manifest(std::string_view text, const fs::path& file) {
  const Json json = parse_strictly(text, file);
  if (const auto& format = find(json, "format", Json::value_t::string, file); format != "tenon-checkpoint")
    refuse_checkpoint(file, "format is {}; expected \"tenon-checkpoint\"", quote_name(format.get<std::string>()));
  const uint64_t version = find_count(json, "format_version", file);
  if (version != kFormatVersion)
    refuse_checkpoint(file, "format_version is {}; this version of Tenon reads {}", version, kFormatVersion);
  CheckpointManifest manifest;
  manifest.epoch = static_cast<int64_t>(find_count(json, "epoch", file));
  manifest.step = static_cast<int64_t>(find_count(json, "step", file));
  for (const auto& entry : find(json, "files", Json::value_t::array, file))
    manifest.files.push_back(read_file_entry(entry, file));
  for (const auto& [name, value] : find(json, "metrics", Json::value_t::object, file).items())
    manifest.metrics.emplace_back(name, read_metric(name, value, file));
  if (json.contains(kClassNames))
    manifest.class_names = parse_class_names(find(json, kClassNames, Json::value_t::object, file).dump());
  if (json.contains(kExcludedFrozenParameters))
    for (const Json& entry : find(json, kExcludedFrozenParameters, Json::value_t::array, file))
      manifest.excluded.push_back(read_excluded(entry, file));
  if (json.contains("state"))
    for (const auto& [name, value] : find(json, "state", Json::value_t::object, file).items())
      manifest.state.emplace(name, read_metric(name, value, file));
  return manifest;
}

}  // namespace tenon::artifacts
