#include "framework/reporting/terminal/write_output.h"
#include "tests/doctest_with_torch.h"

namespace tenon::reporting {

namespace {

using support::Style;

TextTable runs_table() {
  TextTable table("llrl");
  table.add({"run", "state", "loss", "model"});
  table.add({"digits/2026-11-21T11-30-05", "finished", "0.5", "mlp"}, {Style::plain, Style::green});
  table.add({"digits/2026-11-21T11-30-06", "failed", "", "small_cnn"}, {Style::plain, Style::red});
  return table;
}

}  // namespace

TEST_CASE("without a limit a table has all columns") {
  CHECK(runs_table().format_within(0, {0, 1, 2, 3}, false) == runs_table().format(""));
  CHECK(runs_table().format("  ") ==
        "  run                         state     loss  model\n"
        "  digits/2026-11-21T11-30-05  finished   0.5  mlp\n"
        "  digits/2026-11-21T11-30-06  failed          small_cnn\n");
}

TEST_CASE("the most important columns that fit are shown, and the others are named") {
  CHECK(runs_table().format_within(44, {0, 2, 1, 3}, false) ==
        "(too narrow for model)\n"
        "run                         state     loss\n"
        "digits/2026-11-21T11-30-05  finished   0.5\n"
        "digits/2026-11-21T11-30-06  failed\n");
  CHECK(runs_table().format_within(32, {0, 2, 1, 3}, false) ==
        "(too narrow for state, model)\n"
        "run                         loss\n"
        "digits/2026-11-21T11-30-05   0.5\n"
        "digits/2026-11-21T11-30-06\n");
  CHECK(runs_table().format_within(28, {0, 1, 2, 3}, false).starts_with("(too narrow for 3 more)\nrun\n"));
}

TEST_CASE("the first column is always shown, with the ends of its cells if it is too wide") {
  CHECK(runs_table().format_within(14, {0, 1, 2, 3}, false) ==
        "run\n"
        "...21T11-30-05\n"
        "...21T11-30-06\n");
}

TEST_CASE("no line is wider than the limit") {
  for (size_t width = 4; width < 70; ++width) {
    CAPTURE(width);
    const std::string text = runs_table().format_within(width, {0, 2, 1, 3}, false);
    for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1)
      CHECK(text.find('\n', begin) - begin <= width);
  }
}

TEST_CASE("styles do not change the columns, and control characters of cells are escaped") {
  TextTable table("lr");
  table.add({"run", "loss"});
  table.add({"a\033[31m", "1"}, {Style::green});
  CHECK(table.format_within(0, {0, 1}, true) ==
        "\033[1mrun\033[m          \033[1mloss\033[m\n"
        "\033[32ma\\u001b[31m\033[m     1\n");
}

}  // namespace tenon::reporting
