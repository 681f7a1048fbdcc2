#include "framework/config/values/device_choice.h"

#include <charconv>

namespace tenon::config {
namespace {

constexpr int kMaxDevices = 64;  // limit of LibTorch

}  // namespace

std::string to_string(const DeviceChoice& choice) {
  switch (choice.kind) {
    case DeviceChoice::Kind::automatic: return "auto";
    case DeviceChoice::Kind::cpu: return "cpu";
    case DeviceChoice::Kind::cuda: break;
  }
  return choice.index ? "cuda:" + std::to_string(*choice.index) : "cuda";
}

std::optional<DeviceChoice> parse_device_choice(std::string_view text) {
  using Kind = DeviceChoice::Kind;
  constexpr std::string_view kNumbered = "cuda:";
  DeviceChoice choice;
  choice.kind = text == "auto" ? Kind::automatic : text == "cpu" ? Kind::cpu : Kind::cuda;
  if (choice.kind != Kind::cuda || text == "cuda") return choice;
  if (!text.starts_with(kNumbered)) return std::nullopt;
  text.remove_prefix(kNumbered.size());
  int index = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  if (!is_whole || text.front() == '-' || index >= kMaxDevices) return std::nullopt;
  choice.index = index;
  return choice;
}

}  // namespace tenon::config
