#include "framework/callbacks/progress.h"

#include <doctest/doctest.h>

using namespace tenon::callbacks;

TEST_CASE("names are printed above the first row, and again when a column is added, widened or marked") {
  EpochTable table;
  const EpochRow first{"1/3", {{"train/loss", "0.5", 0}, {"lr", "0.001", 1}}};
  CHECK(table.add(first, 80) ==
        "epoch  train/loss       lr\n"
        "1/3           0.5    0.001\n");
  CHECK(table.add({"2/3", {{"train/loss", "0.4", 0}, {"lr", "0.001", 1}}}, 80) == "2/3           0.4    0.001\n");
  CHECK(table.add({"3/3", {{"train/loss", "0.3", 1}, {"validation/loss", "0.2", 0, true}, {"lr", "1", 2}}}, 80) ==
        "epoch  train/loss  validation/loss         lr\n"
        "3/3           0.3              0.2 *        1\n");
}

TEST_CASE("a row without a metric leaves its column empty") {
  EpochTable table;
  table.add({"1/2", {{"train/loss", "0.5", 0}, {"validation/loss", "0.5", 1}, {"lr", "1", 2}}}, 80);
  CHECK(table.add({"2/2", {{"train/loss", "0.4", 0}, {"lr", "1", 2}}}, 80) ==
        "2/2           0.4                         1\n");
}

TEST_CASE("the most important columns that fit are shown in their order, and the others are named") {
  EpochTable table;
  const EpochRow row{"1/2", {{"train/loss", "0.5", 1}, {"validation/accuracy", "0.9", 0}, {"time", "0:10", 2}}};
  CHECK(table.add(row, 80) ==
        "epoch  train/loss  validation/accuracy     time\n"
        "1/2           0.5                  0.9     0:10\n");
  CHECK(table.add(row, 47) ==
        "(too narrow for time)\n"
        "epoch  train/loss  validation/accuracy\n"
        "1/2           0.5                  0.9\n");
  CHECK(table.add(row, 30) ==
        "(too narrow for 2 columns)\n"
        "epoch  validation/accuracy\n"
        "1/2                    0.9\n");
  CHECK(EpochTable().add({"1/2", {{"validation/accuracy", "0.9", 0}}}, 26) ==
        "(too narrow for 1 column)\n"
        "epoch\n"
        "1/2\n");
  CHECK(table.add(row, 12) ==
        "epoch\n"
        "1/2\n");
  CHECK(table.add(row, 80).starts_with("epoch  train/loss"));
}

TEST_CASE("an optional column is left out without a note") {
  EpochTable table;
  const EpochRow row{"1/2",
                     {{"train/loss", "0.5", 0}, {"validation/f1", "0.9", 1}, {"samples/s", "99", 2, false, true}}};
  CHECK(table.add(row, 80) ==
        "epoch  train/loss  validation/f1  samples/s\n"
        "1/2           0.5            0.9         99\n");
  CHECK(table.add(row, 40) ==
        "epoch  train/loss  validation/f1\n"
        "1/2           0.5            0.9\n");
  CHECK(table.add(row, 31) ==
        "(too narrow for validation/f1)\n"
        "epoch  train/loss  samples/s\n"
        "1/2           0.5         99\n");
}

TEST_CASE("a plain line has one sample in the singular") {
  CHECK(format_line({"1/2", {{"samples/s", "1", 1}}}) == "epoch 1/2  1 sample/s\n");
  CHECK(format_line({"1/2", {{"samples/s", "0", 1}}}) == "epoch 1/2  0 samples/s\n");
}

TEST_CASE("a plain line has all metrics") {
  CHECK(format_line({"1/2", {{"train/loss", "0.5", 0, true}, {"samples/s", "9", 1}, {"time", "0:10", 2}}}) ==
        "epoch 1/2  train/loss 0.5 *  9 samples/s  time 0:10\n");
}
