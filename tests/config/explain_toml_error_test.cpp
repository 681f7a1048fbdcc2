// Syntax errors of run files: the message has the corrected line, and the corrected text is valid.
#include "framework/config/toml/explain_toml_error.h"

#include <doctest/doctest.h>

#include <string>

#include "framework/config/toml/toml_tree.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::config {
namespace {

std::string error_of_toml(const std::string& text) {
  try {
    parse_toml(text, "run.toml");
  } catch (const support::Error& error) {
    return error.what();
  }
  return "";
}

// Checks the location and the corrected line of a message, and that the text with this line is valid.
void check_repaired(const std::string& line, const std::string& repaired, const std::string& found) {
  const std::string before = "[model]\n", after = "\n[train]\nepochs = 1\n";
  const std::string message = error_of_toml(before + line + after);
  CAPTURE(line);
  CAPTURE(message);
  CHECK(message.starts_with("run.toml:2:"));
  CHECK(message.find("invalid TOML: " + found + "; expected ") != std::string::npos);
  CHECK(message.ends_with(": write `" + repaired + "`"));
  CHECK(error_of_toml(before + repaired + after).empty());
}

}  // namespace

TEST_CASE("a value without quotes is corrected") {
  check_repaired("use = mlp", "use = \"mlp\"", "mlp has no quotes");
  check_repaired("name = my run  # first", "name = \"my run\"  # first", "my run has no quotes");
  check_repaired("path = ../data/photos", "path = \"../data/photos\"", "../data/photos has no quotes");
  check_repaired("params = { split = train }", "params = { split = \"train\" }", "train has no quotes");
  check_repaired("t = [\"resize(8)\", normalize()]", "t = [\"resize(8)\", \"normalize()\"]",
                 "normalize() has no quotes");
  check_repaired("t = [random_resized_crop(8, scale=(0.5, 1))]", "t = [\"random_resized_crop(8, scale=(0.5, 1))\"]",
                 "random_resized_crop(8, scale=(0.5, 1)) has no quotes");
  check_repaired("use = mlp\"", "use = \"mlp\"", "mlp\" has no quotes");
}

TEST_CASE("quotes that do not match are corrected") {
  check_repaired("use = \"mlp", "use = \"mlp\"", "a string is not closed");
  check_repaired("params = { split = \"train }", "params = { split = \"train\" }", "a string is not closed");
  check_repaired("use = 'mlp\"", "use = \"mlp\"", "a string ends with another quote than it begins");
  check_repaired("use = \u201Cmlp\u201D", "use = \"mlp\"", "the quotes are typographic");
  check_repaired("path = \"C:\\photos\"", "path = 'C:\\photos'", "a backslash begins an escape");
}

TEST_CASE("words and numbers of other languages are corrected") {
  check_repaired("shuffle = True", "shuffle = true", "True is no TOML value");
  check_repaired("shuffle = off", "shuffle = false", "off is no TOML value");
  check_repaired("weights = None", "# weights = None", "None is no TOML value");
  check_repaired("lr = .01", "lr = 0.01", ".01 begins with a point");
  check_repaired("lr = 1.", "lr = 1.0", "1. ends with a point");
  check_repaired("lr = 0,01", "lr = 0.01", "0,01 has a comma");
  check_repaired("steps = 010", "steps = 10", "010 begins with 0");
  check_repaired("lr = 1e-2;", "lr = 1e-2", "\";\" ends no line");
}

TEST_CASE("brackets that do not match are corrected") {
  check_repaired("[data", "[data]", "the brackets of the header do not match");
  check_repaired("data]", "[data]", "the brackets of the header do not match");
  check_repaired("[[loss]", "[[loss]]", "the brackets of the header do not match");
  check_repaired("[run]]", "[run]", "the brackets of the header do not match");
  check_repaired("params = { hidden = [16]", "params = { hidden = [16] }", "a bracket is not closed");
  check_repaired("params = { hidden = [16 }", "params = { hidden = [16] }", "a bracket is not closed");
  check_repaired("params = { hidden = [16], }", "params = { hidden = [16] }", "a comma follows the last key");
  check_repaired("params = hidden = [16]", "params = { hidden = [16] }", "a table has no braces");
}

TEST_CASE("the syntax of YAML and JSON is corrected") {
  check_repaired("use : \"mlp\"", "use = \"mlp\"", "\":\" follows the key");
  check_repaired("use: mlp", "use = \"mlp\"", "\":\" follows the key");
  check_repaired("data:", "[data]", "\"data:\" is YAML");
  check_repaired("use \"mlp\"", "use = \"mlp\"", "no \"=\" follows the key");
  check_repaired("batch size = 64", "batch_size = 64", "the key contains a blank");
  check_repaired("steps = 1 // short", "steps = 1 # short", "\"//\" begins no comment");
  check_repaired("-- short", "# short", "\"--\" begins no comment");
  CHECK(error_of_toml("\n{\"model\": {}}").find("run.toml:2:1: invalid TOML: the file is JSON; expected TOML") == 0);
}

TEST_CASE("two keys of one line are put on two lines") {
  CHECK(
      error_of_toml("lr = 1e-2 weight_decay = 0.1\n") ==
      "run.toml:1:11: invalid TOML: a second key is on the line; expected one key on each line: write `lr = 1e-2` and "
      "`weight_decay = 0.1` on two lines");
}

TEST_CASE("a list that is not closed is corrected in its last line") {
  CHECK(error_of_toml("t = [\n  \"a\",\n  \"b\"\n\n[train]\n") ==
        "run.toml:3:3: invalid TOML: a bracket is not closed; expected as many closing brackets as opening ones: write "
        "`\"b\"]`");
  CHECK(error_of_toml("t = [\"a\", \"b\"\n[train]\nepochs = 1\n").ends_with("write `t = [\"a\", \"b\"]`"));
}

TEST_CASE("a key or a table that is there twice is named with the line of the first") {
  CHECK(error_of_toml("[run]\nseed = 1\nname = \"a\"\nseed = 2\n")
            .ends_with("seed is in line 2 already; expected each key once: remove one of the two lines"));
  CHECK(error_of_toml("[run]\nseed = 1\n[train]\n[run]\n")
            .ends_with("[run] is in line 1 already; expected each table once: move its keys there"));
  CHECK(error_of_toml("[loss]\nuse = \"a\"\n[loss]\nuse = \"b\"\n").find("write `[[loss]]` for each of them") !=
        std::string::npos);
}

TEST_CASE("the reason of the parser is kept if no correction is valid") {
  CHECK(error_of_toml("use =\n").find("expected value, saw '\\n'; expected lines such as `epochs = 10`") !=
        std::string::npos);
  const std::string long_line = "use = " + std::string(1000, 'x');
  CHECK(error_of_toml(long_line).find("could not determine value type; expected lines") != std::string::npos);
}

}  // namespace tenon::config
