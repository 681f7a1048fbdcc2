#include "plugins/callbacks/mlflow/names.h"

#include <doctest/doctest.h>

using namespace mlflow;

TEST_CASE("metric names keep what MLflow accepts, and other characters become underscores") {
  CHECK(make_metric_name("validation/top-5 accuracy_1.x") == "validation/top-5 accuracy_1.x");
  CHECK(make_metric_name("iou[road]:50%") == "iou_road__50_");
  CHECK(make_metric_name("größe") == "größe");
  CHECK(make_metric_name(std::string(300, 'a')).size() == 250);
}

TEST_CASE("keys of the plan become names without brackets") {
  CHECK(make_param_name("optimizer.lr") == "optimizer.lr");
  CHECK(make_param_name("loss[0].weight") == "loss.0.weight");
  CHECK(make_param_name("data.batch_transform[12].use") == "data.batch_transform.12.use");
}

TEST_CASE("a text is shortened at the border of a character") {
  CHECK(shorten("abc", 3) == "abc");
  CHECK(shorten("abcd", 3) == "abc");
  CHECK(shorten("aö", 2) == "a");
  CHECK(shorten("aö", 3) == "aö");
}

TEST_CASE("only the losses of an epoch are means over it") {
  const std::vector<std::string> losses{"cross_entropy", "aux"};
  CHECK(is_mean_over_epoch("train/loss", losses));
  CHECK(is_mean_over_epoch("train/aux", losses));
  CHECK(is_mean_over_epoch("train/aux.part", losses));
  CHECK_FALSE(is_mean_over_epoch("train/auxiliary", losses));
  CHECK_FALSE(is_mean_over_epoch("train/learning_rate", losses));
  CHECK_FALSE(is_mean_over_epoch("validation/loss", losses));
}
