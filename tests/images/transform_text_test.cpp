#include <doctest/doctest.h>

#include <tenon/error.hpp>

#include "framework/images/transforms/transform_chain.h"

using images::TransformChain;

namespace {

std::string chain_refusal(const std::vector<std::string>& entries) {
  try {
    TransformChain chain(entries);
  } catch (const tenon::Error& error) {
    CHECK(error.status() == TENON_INVALID_ARGUMENT);
    return error.what();
  }
  return "";
}

// Returns the error of a chain with one entry, without the location.
std::string refusal(const std::string& entry) {
  const std::string text = chain_refusal({entry});
  const std::string place = "entry 1 of parameter \"transforms\", \"" + entry + "\": ";
  CHECK(text.substr(0, place.size()) == place);
  return text.size() > place.size() ? text.substr(place.size()) : text;
}

}  // namespace

TEST_CASE("arguments can be passed by position, by name, in pairs and as words") {
  for (const char* entry :
       {"normalize", "normalize()", " random_resized_crop ( 224 , (0.2,1) , interpolation = bicubic ) ",
        "random_resized_crop(size=(160, 224), antialias=false)", "horizontal_flip(.5)", "resize(256, max_size=none)",
        "random_erasing(value=(1, 2, 3))", "random_rotation(+1e1)"}) {
    CAPTURE(entry);
    CHECK(chain_refusal({entry}).empty());
  }
}

TEST_CASE("the location of an error is named") {
  CHECK(chain_refusal({"normalize()", "resize(8)"}) ==
        "entry 2 of parameter \"transforms\", \"resize(8)\": comes after normalize; expected it before normalize, "
        "where pixels have 8 bits");
}

TEST_CASE("syntax errors are refused with their position") {
  CHECK(refusal("") == "found the end at character 1; expected the name of a transform");
  CHECK(refusal("resize(256") == "found the end at character 11; expected \",\" or \")\"");
  CHECK(refusal("resize(256))") == "found \")\" at character 12; expected the end");
  CHECK(refusal("resize(,)") == "found \",)\" at character 8; expected a number");
  CHECK(refusal("resize((1, two))") == "found \"two))\" at character 12; expected a number");
  CHECK(refusal("resize(1e999)") == "found \"1e999)\" at character 8; expected a number");
  CHECK(refusal("resize(256) flip") == "found \"flip\" at character 13; expected the end");
}

TEST_CASE("an unknown name is reported with the nearest name") {
  CHECK(refusal("centre_crop(224)") == "there is no transform \"centre_crop\"; did you mean \"center_crop\"?");
  CHECK(refusal("random_horizontal_flip()") ==
        "there is no transform \"random_horizontal_flip\"; did you mean \"horizontal_flip\"?");
  CHECK(refusal("mixup()").find("there is no transform \"mixup\"; known: mosaic, random_resized_crop, resize, ") == 0);
  CHECK(refusal("color_jitter(brightnes=1)") == "there is no argument \"brightnes\"; did you mean \"brightness\"?");
  CHECK(refusal("resize(1, antialias=flase)") == "antialias is flase; expected true or false; did you mean \"false\"?");
}

TEST_CASE("values of the wrong kind or out of range are refused with the expected values") {
  CHECK(refusal("horizontal_flip(p=2)") == "p is 2; expected a number in [0, 1]");
  CHECK(refusal("resize(25.5)") == "size is 25.5; expected 1 or 2 whole numbers in [1, 65536]");
  CHECK(refusal("resize((1, 2, 3))") == "size is (1, 2, 3); expected 1 or 2 whole numbers in [1, 65536]");
  CHECK(refusal("random_erasing(value=noise)").find("value is noise; expected 1 or 3 numbers or random") == 0);
  CHECK(refusal("normalize(std=0)") == "std is 0; expected 1 or 3 numbers in (0, inf)");
  CHECK(refusal("resize()") == "the argument size is missing; expected 1 or 2 whole numbers in [1, 65536]");
}

TEST_CASE("too many arguments, duplicates, and positional arguments after named ones are refused") {
  CHECK(refusal("horizontal_flip(0.5, 1)") == "argument 2 is 1; expected 1 at most");
  CHECK(refusal("horizontal_flip(0.5, p=1)") == "p is given twice");
  CHECK(refusal("resize(size=5, 7)").find("found 7 without a name after a named argument") == 0);
}

TEST_CASE("arguments that contradict each other are refused") {
  CHECK(refusal("random_resized_crop(224, scale=(1, 0.5))") ==
        "scale is (1, 0.5); expected two numbers, the smaller one first");
  CHECK(refusal("resize(256, max_size=256)") == "max_size is 256; expected more than size");
  CHECK(refusal("resize((256, 256), max_size=300)") == "max_size is 300; expected none where size has two numbers");
  CHECK(refusal("gaussian_blur(4)") == "kernel is 4; expected odd numbers");
  CHECK(refusal("color_jitter(hue=(-0.2, 0.6))").find("hue is (-0.2, 0.6); expected 1 or 2 numbers in [-0.5, 0.5]") ==
        0);
  CHECK(refusal("auto_augment(policy=mnist)") == "policy is mnist; expected imagenet, cifar10 or svhn");
  CHECK(refusal("trivial_augment_wide(1)") == "num_magnitude_bins is 1; expected a whole number in [2, 1001]");
  CHECK(refusal("rand_augment(2, 31)") == "magnitude is 31; expected less than num_magnitude_bins");
}

TEST_CASE("transforms of levels must come before normalize, transforms of numbers after it") {
  CHECK(chain_refusal({"normalize()", "horizontal_flip()"}).find("comes after normalize") != std::string::npos);
  CHECK(chain_refusal({"normalize()", "normalize()"}).find("comes after normalize") != std::string::npos);
  CHECK(refusal("random_erasing(value=random)").find("value is random before normalize") == 0);
  CHECK(refusal("random_erasing(value=300)").find("value is outside [0, 255]") == 0);
  CHECK(chain_refusal({"normalize()", "random_erasing(value=random)"}).empty());
}

TEST_CASE("a chain prints its transforms with all arguments, as JSON") {
  CHECK(TransformChain({}).format_steps() == R"([{"name": "decode", "color": "RGB", "dtype": "uint8"}])");
  CHECK(TransformChain({"resize((160, 224), interpolation=bicubic)", "horizontal_flip(.25)", "normalize(mean=0.5)"})
            .format_steps() ==
        R"([{"name": "decode", "color": "RGB", "dtype": "uint8"}, )"
        R"({"name": "resize", "size": [160, 224], "interpolation": "bicubic", "max_size": "none", "antialias": true}, )"
        R"({"name": "horizontal_flip", "p": 0.25}, )"
        R"({"name": "normalize", "divide_by": 255, "mean": 0.5, "std": [0.229, 0.224, 0.225]}])");
}
