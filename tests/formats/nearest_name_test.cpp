#include "framework/formats/nearest_name.h"

#include <doctest/doctest.h>

namespace formats {

TEST_CASE("the nearest name is the one with the fewest edits") {
  CHECK(nearest_name("widht", {"hidden", "width", "depth"}) == "width");
  CHECK(nearest_name("epoch", {"steps", "epochs"}) == "epochs");
  CHECK(nearest_name("smal_cnn", {"mlp", "small_cnn"}) == "small_cnn");
}

TEST_CASE("a swap of neighbours is one edit") {
  // With two replacements it would not be nearer than "lab", which comes first.
  CHECK(nearest_name("lable", {"lab", "label"}) == "label");
}

TEST_CASE("the first of equally near names is taken") { CHECK(nearest_name("bat", {"cat", "hat"}) == "cat"); }

TEST_CASE("an abbreviation is near, however much of the name it omits") {
  CHECK(nearest_name("--out", {"--set", "--output"}) == "--output");
  CHECK(nearest_name("accum", {"accumulate", "adam"}) == "accumulate");
}

TEST_CASE("a word of a longer name is nearer than another name that differs in a letter") {
  CHECK(nearest_name("f1", {"l1", "precision_recall_f1"}) == "precision_recall_f1");
  CHECK(nearest_name("precison", {"average_recall", "precision_recall_f1"}) == "precision_recall_f1");
  CHECK(nearest_name("entropy", {"sgd", "cross_entropy", "soft_cross_entropy"}) == "cross_entropy");
  CHECK(nearest_name("l1", {"l1", "smooth_l1"}) == "l1");
  CHECK_FALSE(nearest_name("ab", {"cd_ac"}));
}

TEST_CASE("of names with the same word, the one with fewer words and letters is taken") {
  CHECK(nearest_name("f1", {"binary_precision_recall_f1", "precision_recall_f1"}) == "precision_recall_f1");
  CHECK(nearest_name("cnn", {"siamese_cnn", "small_cnn"}) == "small_cnn");
  CHECK(nearest_name("val", {"validation_batch_size", "validation"}) == "validation");
}

TEST_CASE("initials and their words are the same name") {
  CHECK(nearest_name("learning_rate", {"lr", "eps", "rate_of_decay"}) == "lr");
  CHECK(nearest_name("ce", {"ctc", "cross_entropy", "dice"}) == "cross_entropy");
  CHECK_FALSE(nearest_name("nll", {"l1", "mse"}));
}

TEST_CASE("names that share words are near") {
  CHECK(nearest_name("CrossEntropyLoss", {"bce_with_logits", "cross_entropy", "soft_cross_entropy"}) ==
        "cross_entropy");
  CHECK(nearest_name("num_workers", {"batch_size", "workers"}) == "workers");
  CHECK(nearest_name("max_steps", {"epochs", "max_skipped_steps", "steps"}) == "steps");
  CHECK(nearest_name("val_loss", {"train/loss", "validation/accuracy", "validation/loss"}) == "validation/loss");
  CHECK(nearest_name("accuracy", {"train/loss", "validation/accuracy"}) == "validation/accuracy");
  CHECK(nearest_name("validation_percent", {"path", "validation_fraction"}) == "validation_fraction");
  CHECK_FALSE(nearest_name("image_size", {"size_of_file"}));
}

TEST_CASE("a longer form of a name is near, unless most of it is unknown") {
  CHECK(nearest_name("maximum", {"max", "min"}) == "max");
  CHECK_FALSE(nearest_name("validator", {"val"}));
}

TEST_CASE("short names differ in at most one letter") { CHECK_FALSE(nearest_name("lr", {"log"})); }

TEST_CASE("case is ignored") { CHECK(nearest_name("SGD", {"adamw", "sgd"}) == "sgd"); }

TEST_CASE("up to a third of the letters may differ, and at least two") {
  CHECK(nearest_name("vxlxdxtion", {"validation"}) == "validation");
  CHECK_FALSE(nearest_name("vxlxdxtxon", {"validation"}));
  CHECK(nearest_name("axbx", {"axcy"}) == "axcy");
}

TEST_CASE("names with nothing in common are not near") {
  CHECK_FALSE(nearest_name("xy", {"lr"}));
  CHECK_FALSE(nearest_name("", {"lr"}));
  CHECK_FALSE(nearest_name("momentum", {"lr", "eps"}));
}

TEST_CASE("a suggestion has the nearest name, all known names, or nothing") {
  CHECK(suggest_name("adam", {"sgd", "adamw"}) == "; did you mean \"adamw\"?");
  CHECK(suggest_name("rmsprop", {"sgd", "adamw"}) == "; known: sgd, adamw");
  CHECK(suggest_name("adam", {}).empty());
}

}  // namespace formats
