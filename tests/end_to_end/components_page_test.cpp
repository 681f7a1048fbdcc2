// Compares docs/reference/components.md with the output of `host describe`, called as a function for each component.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "host/command_line/run_command.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/test_folder.h"

namespace {

// Returns the standard output of the command.
std::string describe(const char* component) {
  const char* const words[] = {
      "host", "describe", component, "--markdown", "--ports", "--plugin-dir", TENON_BINARY_DIR "/plugins"};
  const std::filesystem::path file = tenon::test_folder() / "printed";
  std::fflush(stdout);
  const int before = dup(STDOUT_FILENO);
  const int written = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  dup2(written, STDOUT_FILENO);
  close(written);
  const int exit_code = tenon::host::run_command(std::size(words), words);
  std::fflush(stdout);
  dup2(before, STDOUT_FILENO);
  close(before);
  REQUIRE(exit_code == 0);
  return tenon::end_to_end::read_file(file);
}

}  // namespace

TEST_CASE("docs/reference/components.md equals the output of host describe for the bundled components") {
  std::string expected = tenon::end_to_end::read_file(TENON_SOURCE_DIR "/docs/reference/components.md");
  expected.erase(0, expected.find("## model"));
  std::string printed;
  for (const char* id : {"small_cnn",
                         "mlp",
                         "resnet",
                         "efficientnet",
                         "vit",
                         "unet",
                         "siamese_cnn",
                         "seq2seq_transformer",
                         "seq2seq_gru",
                         "gpt",
                         "exported",
                         "digits",
                         "image_folder",
                         "image_csv",
                         "pairs",
                         "segmentation",
                         "tar_shards",
                         "parquet",
                         "idx",
                         "arrays",
                         "table",
                         "synthetic",
                         "text_pairs",
                         "text_windows",
                         "cross_entropy",
                         "soft_cross_entropy",
                         "sequence_cross_entropy",
                         "focal",
                         "dice",
                         "bce_with_logits",
                         "binary_focal",
                         "binary_dice",
                         "mse",
                         "l1",
                         "smooth_l1",
                         "huber",
                         "kl_divergence",
                         "ctc",
                         "accuracy",
                         "binary_accuracy",
                         "token_accuracy",
                         "perplexity",
                         "precision_recall_f1",
                         "binary_precision_recall_f1",
                         "confusion_matrix",
                         "iou",
                         "dice_score",
                         "roc_auc",
                         "binary_roc_auc",
                         "average_precision",
                         "binary_average_precision",
                         "mae",
                         "rmse",
                         "r2",
                         "bleu",
                         "rouge_l",
                         "early_stopping",
                         "time_limit",
                         "nan_guard",
                         "best_checkpoints",
                         "throughput",
                         "gradient_statistics",
                         "weight_statistics",
                         "mlflow"})
    printed += (printed.empty() ? "" : "\n") + describe(id);
  CHECK(printed == expected);
}
