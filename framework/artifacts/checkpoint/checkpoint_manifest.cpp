#include "framework/artifacts/checkpoint/checkpoint_manifest.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <vector>

#include "framework/artifacts/checkpoint/class_names.h"
#include "framework/artifacts/checkpoint/tensor_view.h"
#include "framework/formats/json_depth.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"

namespace tenon::artifacts {

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

Json parse_strictly(std::string_view text, const std::filesystem::path& file) {
  if (formats::is_nested_deeper(text, kDeepest))
    support::refuse_path(support::ErrorKind::checkpoint, file, "nests deeper than a manifest can");
  // The parser treats a zero byte as the end of the text and would ignore the rest.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos)
    support::refuse_path(support::ErrorKind::checkpoint, file,
                         "is not JSON: it has a zero byte at byte " + std::to_string(zero + 1));
  try {
    RepeatedKey repeated;
    Json::sax_parse(text.begin(), text.end(), &repeated);
    if (repeated.found())
      support::refuse_path(support::ErrorKind::checkpoint, file,
                           "has the key " + quote_name(*repeated.found()) + " twice");
    return Json::parse(text.begin(), text.end());
  } catch (const Json::exception& error) {
    support::refuse_path(support::ErrorKind::checkpoint, file, std::string("is not JSON: ") + error.what());
  }
}

const Json& find(const Json& object, const char* key, Json::value_t type, const std::filesystem::path& file) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end()) support::refuse_path(support::ErrorKind::checkpoint, file, std::string("has no ") + key);
  if (found->type() != type) {
    support::refuse_path(support::ErrorKind::checkpoint, file,
                         std::string(key) + " is " +
                             quote_name(found->dump(-1, ' ', false, Json::error_handler_t::replace)) + "; expected " +
                             Json(type).type_name());
  }
  return *found;
}

uint64_t find_count(const Json& object, const char* key, const std::filesystem::path& file) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end()) support::refuse_path(support::ErrorKind::checkpoint, file, std::string("has no ") + key);
  constexpr auto kLargest = static_cast<uint64_t>(INT64_MAX);
  if (!found->is_number_unsigned() || found->get<uint64_t>() > kLargest) {
    support::refuse_path(support::ErrorKind::checkpoint, file,
                         std::string(key) + " is " +
                             quote_name(found->dump(-1, ' ', false, Json::error_handler_t::replace)) +
                             "; expected a whole number from 0 to 2^63 - 1");
  }
  return found->get<uint64_t>();
}

bool is_xxh128(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

CheckpointFile read_file_entry(const Json& entry, const std::filesystem::path& file) {
  CheckpointFile result;
  result.name = find(entry, "name", Json::value_t::string, file).get<std::string>();
  result.bytes = find_count(entry, "bytes", file);
  result.xxh128 = find(entry, "xxh128", Json::value_t::string, file).get<std::string>();
  const bool is_plain = !result.name.empty() && result.name[0] != '.' &&
                        result.name.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
  if (!is_plain)
    support::refuse_path(
        support::ErrorKind::checkpoint, file,
        "names the file " + quote_name(result.name) + "; expected a file within the checkpoint folder");
  if (!is_xxh128(result.xxh128))
    support::refuse_path(support::ErrorKind::checkpoint, file,
                         "the xxh128 of " + result.name + " is " + quote_name(result.xxh128) + "; expected 32 digits");
  return result;
}

ExcludedTensor read_excluded(const Json& entry, const std::filesystem::path& file) {
  ExcludedTensor tensor{find(entry, "name", Json::value_t::string, file).get<std::string>(), 0, {}, {}};
  const auto dtype = find(entry, "dtype", Json::value_t::string, file).get<std::string>();
  const StoredType* const type = find_stored_type(dtype);
  if (!type)
    support::refuse_path(support::ErrorKind::checkpoint, file,
                         "the dtype of " + quote_name(tensor.name) + " is " + quote_name(dtype) + "; expected " +
                             std::string(list_stored_types()));
  tensor.dtype = type->dtype;
  for (const Json& size : find(entry, "shape", Json::value_t::array, file)) {
    if (!size.is_number_unsigned() || size.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
      support::refuse_path(support::ErrorKind::checkpoint, file,
                           "the shape of " + quote_name(tensor.name) + " has " + quote_name(size.dump()) +
                               "; expected whole numbers from 0 to 2^63 - 1");
    tensor.shape.push_back(size.get<int64_t>());
  }
  tensor.xxh128 = find(entry, "xxh128", Json::value_t::string, file).get<std::string>();
  if (!is_xxh128(tensor.xxh128))
    support::refuse_path(
        support::ErrorKind::checkpoint, file,
        "the xxh128 of " + quote_name(tensor.name) + " is " + quote_name(tensor.xxh128) + "; expected 32 digits");
  return tensor;
}

std::string format_excluded(const std::vector<ExcludedTensor>& tensors) {
  std::string text = "[";
  const char* separator = "\n";
  for (const ExcludedTensor& tensor : tensors) {
    std::string shape;
    for (const int64_t size : tensor.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(size);
    text += separator + std::string("    {\"name\": ") + format_json_string(tensor.name) + ", \"dtype\": \"" +
            std::string(find_stored_type(tensor.dtype)->name) + "\", \"shape\": [" + shape + "], \"xxh128\": \"" +
            tensor.xxh128 + "\"}";
    separator = ",\n";
  }
  return text + "\n  ]";
}

double read_metric(const std::string& name, const Json& value, const std::filesystem::path& file) {
  if (value.is_number()) return value.get<double>();
  try {
    return parse_not_finite(value.is_string() ? value.get<std::string>() : std::string(value.type_name()));
  } catch (const std::invalid_argument& error) {
    support::refuse_path(support::ErrorKind::checkpoint, file,
                         "the metric " + quote_name(name) + " is " + error.what());
  }
}

// Prints an object of the manifest: pairs of a name and a number.
template <class Numbers>
std::string format_numbers(const Numbers& numbers) {
  std::string text = "{";
  const char* separator = "\n";
  for (const auto& [name, value] : numbers) {
    text += separator + std::string("    ") + format_json_string(name) + ": " + format_json_number(value);
    separator = ",\n";
  }
  return text + (numbers.empty() ? "}" : "\n  }");
}

}  // namespace

std::string format_checkpoint_manifest(const CheckpointManifest& manifest) {
  std::string text = "{\n  \"format\": \"tenon-checkpoint\",\n  \"format_version\": " + std::to_string(kFormatVersion) +
                     ",\n  \"epoch\": " + std::to_string(manifest.epoch) +
                     ",\n  \"step\": " + std::to_string(manifest.step) + ",\n  \"files\": [";
  const char* separator = "\n";
  for (const auto& file : manifest.files) {
    text += separator + std::string("    {\"name\": ") + format_json_string(file.name) +
            ", \"bytes\": " + std::to_string(file.bytes) + ", \"xxh128\": \"" + file.xxh128 + "\"}";
    separator = ",\n";
  }
  text += "\n  ],\n  \"metrics\": " + format_numbers(manifest.metrics);
  if (!manifest.class_names.empty())
    text += ",\n  \"" + std::string(kClassNames) + "\": " + format_class_names(manifest.class_names);
  if (!manifest.excluded.empty())
    text += ",\n  \"" + std::string(kExcludedFrozenParameters) + "\": " + format_excluded(manifest.excluded);
  if (!manifest.state.empty()) text += ",\n  \"state\": " + format_numbers(manifest.state);
  return text + "\n}\n";
}

CheckpointManifest parse_checkpoint_manifest(std::string_view text, const std::filesystem::path& file) {
  const Json json = parse_strictly(text, file);
  if (const auto& format = find(json, "format", Json::value_t::string, file); format != "tenon-checkpoint") {
    support::refuse_path(support::ErrorKind::checkpoint, file,
                         "format is " + quote_name(format.get<std::string>()) + "; expected \"tenon-checkpoint\"");
  }
  const uint64_t version = find_count(json, "format_version", file);
  if (version != kFormatVersion)
    support::refuse_path(support::ErrorKind::checkpoint, file,
                         "format_version is " + std::to_string(version) + "; this version of Tenon reads " +
                             std::to_string(kFormatVersion));
  CheckpointManifest manifest;
  manifest.epoch = static_cast<int64_t>(find_count(json, "epoch", file));
  manifest.step = static_cast<int64_t>(find_count(json, "step", file));
  for (const auto& entry : find(json, "files", Json::value_t::array, file)) {
    manifest.files.push_back(read_file_entry(entry, file));
  }
  for (const auto& [name, value] : find(json, "metrics", Json::value_t::object, file).items()) {
    manifest.metrics.emplace_back(name, read_metric(name, value, file));
  }
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
