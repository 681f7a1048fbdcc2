#include "framework/artifacts/drawing/confusion_chart.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/artifacts/scratch.h"

using namespace tenon::artifacts;

namespace {

// Rows are targets. Class 0 is predicted correctly 3 times and once as 2, class 2 is predicted as 0 twice, and class 1
// is absent.
const Confusion kExample{3, {{0, 0, 3}, {0, 2, 1}, {2, 0, 2}}};

}  // namespace

TEST_CASE("counts of classes are sums of cells") {
  CHECK(kExample.total() == 6);
  CHECK(kExample.correct() == 3);
  CHECK(kExample.by_target() == std::vector<int64_t>{4, 0, 2});
  CHECK(kExample.by_predicted() == std::vector<int64_t>{5, 0, 1});
  const auto diagnostics = kExample.find_misclassified(5);
  REQUIRE(diagnostics.size() == 2);
  CHECK(diagnostics[0].target == 2);
  CHECK(diagnostics[0].count == 2);
  CHECK(kExample.find_misclassified(1).size() == 1);
}

TEST_CASE("intersection over union equals scikit-learn's jaccard_score, and is NaN for absent classes") {
  // jaccard_score([0,0,0,0,2,2], [0,0,0,2,0,0], average=None, labels=[0,1,2]) is 3/6, (0), 0.
  const auto unions = kExample.intersections_over_unions();
  CHECK(unions[0] == 0.5);
  CHECK(std::isnan(unions[1]));
  CHECK(unions[2] == 0);
}

TEST_CASE("a confusion matrix is rendered with a cell for each count, and with numbers if there is room") {
  const std::string drawn = draw_confusion(kExample);
  for (const char* part : {"<title>class 0 as 0: 3 of 4</title>", "<title>class 2 as 0: 2 of 2</title>",
                           "class=\"dot c0\"", "class=\"dot c1\"", ">3</text>"})
    CHECK_MESSAGE(contains(drawn, part), part);
  const std::string crowded = draw_confusion({kMaxPlottedClasses, {{7, 9, 12345}}});
  CHECK_FALSE(contains(crowded, ">12345</text>"));
  CHECK(contains(crowded, "class 7 as 9: 12345 of 12345"));
}

TEST_CASE("a confusion matrix is labelled with the names of classes") {
  Confusion named = kExample;
  named.names = {"cat", "a < b", "a class with a long name"};
  const std::string drawn = draw_confusion(named);
  for (const char* part : {">cat</text>", ">a &lt; b</text>", ">a class with a…</text>",
                           "<title>class a class with a long name as cat: 2 of 2</title>"})
    CHECK_MESSAGE(contains(drawn, part), part);
  CHECK_FALSE(contains(drawn, ">0</text>"));
}
