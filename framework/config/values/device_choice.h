// The device of a run: "auto", "cpu", "cuda" or "cuda:1".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tenon::config {

struct DeviceChoice {
  enum class Kind {
    automatic,  // a CUDA device if one is usable, else the CPU
    cpu,
    cuda
  } kind = Kind::automatic;
  std::optional<int> index = {};  // index of the CUDA device; none: the local rank

  bool operator==(const DeviceChoice&) const = default;
};

std::string to_string(const DeviceChoice& choice);

// None if the text is none of the four forms.
std::optional<DeviceChoice> parse_device_choice(std::string_view text);

}  // namespace tenon::config
