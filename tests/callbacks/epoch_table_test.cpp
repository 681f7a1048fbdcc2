#include "framework/callbacks/epoch_table.h"

#include <doctest/doctest.h>

using namespace tenon::callbacks;

TEST_CASE("names are printed above the first row, and again when a column is added or widened") {
  EpochTable table;
  const EpochRow first{"1/3", {{"train/loss", "0.5"}, {"lr", "0.001"}}};
  CHECK(table.add(first, 80) ==
        "epoch      train/loss          lr\n"
        "1/3               0.5       0.001\n");
  CHECK(table.add({"2/3", {{"train/loss", "0.4", true}, {"lr", "0.001"}}}, 80) ==
        "2/3               0.4 *     0.001\n");
  CHECK(table.add({"3/3", {{"train/loss", "0.3"}, {"validation/loss", "0.2", true}, {"lr", "1"}}}, 80) ==
        "epoch      train/loss    validation/loss          lr\n"
        "3/3               0.3                0.2 *         1\n");
}

TEST_CASE("a row without a metric leaves its column empty") {
  EpochTable table;
  table.add({"1/2", {{"train/loss", "0.5"}, {"validation/loss", "0.5"}, {"lr", "1"}}}, 80);
  CHECK(table.add({"2/2", {{"train/loss", "0.4"}, {"lr", "1"}}}, 80) ==
        "2/2               0.4                              1\n");
}

TEST_CASE("in a narrow terminal each row is a plain line, and the table returns with its names") {
  EpochTable table;
  const EpochRow row{"1/2", {{"train/loss", "0.5", true}, {"left", "0:10"}}};
  CHECK(table.add(row, 20) == "epoch 1/2  train/loss 0.5 *  0:10 left\n");
  CHECK(table.add(row, 80).starts_with("epoch "));
  CHECK(table.add(row, 80).starts_with("1/2 "));
}
