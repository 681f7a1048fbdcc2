// A host that has the image library alone, for the C++ classes of tenon/draft/images.h.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/draft/images.hpp>

#include "framework/images/library/images_table.h"

struct tenon_params {
  std::map<std::string, tenon_value, std::less<>> values;
};

namespace images_host {

using tenon::draft::EmbeddedImage;
using tenon::draft::ImagePipeline;

inline std::string last_failure;
inline std::vector<std::string> log_lines;

// The host of these tests. All dataset classes of the program use it.
inline void install_host() {
  static const tenon_host table = [] {
    tenon_host made = {};
    made.size = sizeof made;
    made.fail = [](tenon_status status, tenon_string message) {
      last_failure.assign(message.data, message.size);
      return status;
    };
    made.log = [](uint32_t, tenon_string line) { log_lines.emplace_back(line.data, line.size); };
    made.param = [](const tenon_params* params, tenon_string name, tenon_value* out) -> tenon_status {
      const auto found = params->values.find(std::string_view(name.data, name.size));
      if (found == params->values.end()) {
        last_failure = "the schema has no parameter " + std::string(name.data, name.size);
        return TENON_NOT_FOUND;
      }
      *out = found->second;
      return TENON_OK;
    };
    made.get_extension = [](tenon_string id) -> const void* {
      return std::string_view(id.data, id.size) == TENON_IMAGES ? &images::open_images(*tenon::detail::host) : nullptr;
    };
    return made;
  }();
  tenon::detail::host = &table;
}

// The parameters of a dataset: its transforms, and others.
class Settings {
 public:
  explicit Settings(std::vector<std::string> transforms) : transforms_(std::move(transforms)) {
    for (const std::string& entry : transforms_) borrowed_.push_back(tenon::detail::borrow(entry));
    params_.values = {{"transforms", tenon_list_value(TENON_VALUE_STRINGS, borrowed_.data(), borrowed_.size())},
                      {"scaled_decoding", tenon_bool(true)},
                      {"background", tenon_ints(nullptr, 0)},
                      {"max_value", tenon_int(65535)},
                      {"max_pixels", tenon_int(1 << 20)},
                      {"cache", tenon_text("none", 4)},
                      {"cache_bytes", tenon_int(1 << 30)},
                      {"cache_dir", tenon_text("", 0)}};
    install_host();
  }
  Settings(const Settings&) = delete;
  Settings& set(const std::string& name, tenon_value value) {
    params_.values[name] = value;
    return *this;
  }
  tenon::Params params() const { return tenon::Params(&params_); }
  ImagePipeline pipeline() const { return ImagePipeline(params()); }

 private:
  std::vector<std::string> transforms_;
  std::vector<tenon_string> borrowed_;
  tenon_params params_;
};

class FileBytes final : public EmbeddedImage {
 public:
  FileBytes(std::string place, std::vector<uint8_t> bytes)
      : EmbeddedImage(std::move(place)), bytes_(std::move(bytes)) {}

  uint64_t byte_count() const override { return bytes_.size(); }
  void read(uint8_t* bytes) const override {
    ++reads;
    std::copy(bytes_.begin(), bytes_.end(), bytes);
  }
  std::string identity() const override { return place() + std::to_string(bytes_.size()); }

  mutable int reads = 0;

 private:
  std::vector<uint8_t> bytes_;
};

// The message of the error that the host received.
template <class Action>
std::string failure_of(tenon_status status, const Action& action) {
  last_failure.clear();
  try {
    action();
  } catch (const tenon::Error& error) {
    CHECK(error.status() == status);
    return dynamic_cast<const tenon::HostError*>(&error) ? last_failure : error.what();
  }
  return "accepted";
}

inline bool contains(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("found: " << text << "\nexpected: " << part);
  return found;
}

}  // namespace images_host
