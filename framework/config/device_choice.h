// What a run is to compute on, as people say it: "auto", "cpu", "cuda" or "cuda:1".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tenon::config {

struct DeviceChoice {
  enum class Kind {
    automatic,  // a CUDA device if one can be used, else the CPU
    cpu,
    cuda
  } kind = Kind::automatic;
  std::optional<int> index = {};  // of a CUDA device; none: the process's rank on its machine says which

  bool operator==(const DeviceChoice&) const = default;
};

std::string to_string(const DeviceChoice& choice);

// None if the text is none of the four.
std::optional<DeviceChoice> parse_device_choice(std::string_view text);

}  // namespace tenon::config
