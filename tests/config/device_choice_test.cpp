#include "framework/config/values/text_values.h"

#include <doctest/doctest.h>

namespace tenon::config {

using Kind = DeviceChoice::Kind;

TEST_CASE("a device is the CPU, a CUDA device, or automatic") {
  CHECK(parse_device_choice("auto") == DeviceChoice{Kind::automatic});
  CHECK(parse_device_choice("cpu") == DeviceChoice{Kind::cpu});
  CHECK(parse_device_choice("cuda") == DeviceChoice{Kind::cuda});
  CHECK(parse_device_choice("cuda:0") == DeviceChoice{Kind::cuda, 0});
  CHECK(parse_device_choice("cuda:63") == DeviceChoice{Kind::cuda, 63});
}

TEST_CASE("text that is not a device is refused") {
  for (const char* text : {"", "gpu", "CUDA", "cpu:0", "auto:0", "cuda:", "cuda:-1", "cuda:-0", "cuda:+1", "cuda: 1",
                           "cuda:1 ", "cuda:1.0", "cuda:64", "cuda:99999999999", "cuda:a", " cuda"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_device_choice(text).has_value());
  }
}

TEST_CASE("a device is printed as it is parsed") {
  for (const char* text : {"auto", "cpu", "cuda", "cuda:0", "cuda:17"})
    CHECK(to_string(parse_device_choice(text).value()) == text);
}

}  // namespace tenon::config
