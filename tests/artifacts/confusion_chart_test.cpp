#include "framework/artifacts/confusion_chart.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/artifacts/scratch.h"

using namespace tenon::artifacts;

namespace {

// Targets in rows: class 0 is right 3 times, and once taken for 2; class 2 is taken for 0 twice; class 1 is not there.
const Confusion kExample{3, {{0, 0, 3}, {0, 2, 1}, {2, 0, 2}}};

}  // namespace

TEST_CASE("counts of classes add up") {
  CHECK(kExample.total() == 6);
  CHECK(kExample.correct() == 3);
  CHECK(kExample.by_target() == std::vector<int64_t>{4, 0, 2});
  CHECK(kExample.by_predicted() == std::vector<int64_t>{5, 0, 1});
  const auto mistakes = kExample.find_mistakes(5);
  REQUIRE(mistakes.size() == 2);
  CHECK(mistakes[0].target == 2);
  CHECK(mistakes[0].count == 2);
  CHECK(kExample.find_mistakes(1).size() == 1);
}

TEST_CASE("an intersection over union is that of scikit-learn's jaccard_score, and NaN where a class is not there") {
  // jaccard_score([0,0,0,0,2,2], [0,0,0,2,0,0], average=None, labels=[0,1,2]) is 3/6, (0), 0.
  const auto unions = kExample.intersections_over_unions();
  CHECK(unions[0] == 0.5);
  CHECK(std::isnan(unions[1]));
  CHECK(unions[2] == 0);
}

TEST_CASE("a confusion is drawn with a cell for each count, and its numbers where there is room") {
  const std::string drawn = draw_confusion(kExample);
  CHECK(contains(drawn, "<title>class 0 as 0: 3 of 4</title>"));
  CHECK(contains(drawn, "<title>class 2 as 0: 2 of 2</title>"));
  CHECK(contains(drawn, "class=\"dot c0\""));
  CHECK(contains(drawn, "class=\"dot c1\""));
  CHECK(contains(drawn, ">3</text>"));
  const std::string crowded = draw_confusion({kMostDrawnClasses, {{7, 9, 12345}}});
  CHECK_FALSE(contains(crowded, ">12345</text>"));
  CHECK(contains(crowded, "class 7 as 9: 12345 of 12345"));
}
