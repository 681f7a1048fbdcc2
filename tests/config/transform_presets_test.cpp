#include "framework/config/values/transform_presets.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "framework/config/values/check_value.h"

namespace tenon::config {
namespace {

using Texts = std::vector<std::string>;

ParamSchema texts(const std::string& name) { return parse_param_schema(name, ParamType::strings, "[]", "", {}, ""); }

Node node(const std::string& toml) { return *parse_toml_value(toml, {}); }

}  // namespace

TEST_CASE("the name of a preset becomes its list") {
  CHECK(std::get<Texts>(*check_value(node("\"imagenet_eval\""), texts("transforms"))) ==
        Texts{"resize(256)", "center_crop(224)", "normalize()"});
  CHECK(std::get<Texts>(*check_value(node("[\"resize(8)\"]"), texts("transforms"))) == Texts{"resize(8)"});
}

TEST_CASE("only the list of transforms has presets") {
  CHECK_FALSE(check_value(node("\"imagenet_eval\""), texts("fields")));
  CHECK_FALSE(check_value(node("[\"imagenet_eval\", 1]"), texts("transforms")));
  const ParamSchema word = parse_param_schema("transforms", ParamType::string, "\"\"", "", {}, "");
  CHECK(std::get<std::string>(*check_value(node("\"imagenet_eval\""), word)) == "imagenet_eval");
  CHECK(presets_of(word).empty());
}

TEST_CASE("an unknown preset is refused with the known ones") {
  CHECK(describe_mismatch(node("\"imagenet\""), texts("transforms")) ==
        "\"imagenet\"; expected a list of strings or a preset: \"imagenet_train\", \"imagenet_eval\", "
        "\"imagenet_v2_train\", \"imagenet_v2_eval\" or \"timm_train\"; did you mean \"imagenet_eval\"?");
  CHECK(describe_mismatch(node("3"), texts("fields")) == "3; expected a list of strings");
}

TEST_CASE("docs/reference/transforms.md lists the presets") {
  std::ifstream file(TENON_SOURCE_DIR "/docs/reference/transforms.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const TransformPreset& preset : transform_presets()) {
    std::string row = "| `" + preset.name + "` | " + preset.recipe + " | ";
    for (size_t i = 0; i < preset.transforms.size(); ++i) row += (i > 0 ? ", `" : "`") + preset.transforms[i] + "`";
    CAPTURE(row);
    const bool is_listed = text.str().find(row + " |\n") != std::string::npos;
    CHECK(is_listed);
  }
}

}  // namespace tenon::config
