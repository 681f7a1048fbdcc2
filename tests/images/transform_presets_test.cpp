#include "framework/config/values/transform_presets.h"

#include <doctest/doctest.h>

#include "framework/images/transforms/transform_chain.h"

using tenon::config::TransformPreset;

TEST_CASE("presets give normalised samples of one size") {
  for (const TransformPreset& preset : tenon::config::transform_presets()) {
    CAPTURE(preset.name);
    const images::TransformChain chain(preset.transforms);
    const int64_t side = preset.name == "imagenet_v2_train" ? 176 : 224;
    CHECK(chain.shape() == std::vector<int64_t>{3, side, side});
    CHECK(chain.has_fixed_part() == preset.name.ends_with("_eval"));
  }
}
