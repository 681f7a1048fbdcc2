// Compares docs/reference/components.md with the output of `host describe`, called as a function for each component.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "framework/artifacts/files/encode.h"
#include "host/command_line/registry.h"
#include "tests/datasets/written_tar.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/test_folder.h"

namespace fs = std::filesystem;
using tenon::end_to_end::write_file;

namespace {

// A component with the parameters that its example shows.
struct Described {
  const char* id;
  std::vector<std::string> params = {};
};

// Returns the standard output of the command.
std::string describe(const Described& component) {
  std::vector<const char*> words = {
      "host", "describe", component.id, "--markdown", "--ports", "--plugin-dir", TENON_BINARY_DIR "/plugins"};
  for (const std::string& param : component.params) {
    words.push_back("--set");
    words.push_back(param.c_str());
  }
  const std::filesystem::path file = tenon::test_folder() / "printed";
  std::fflush(stdout);
  const int before = dup(STDOUT_FILENO);
  const int written = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  dup2(written, STDOUT_FILENO);
  close(written);
  const int exit_code = tenon::host::run_command(static_cast<int>(words.size()), words.data());
  std::fflush(stdout);
  dup2(before, STDOUT_FILENO);
  close(before);
  REQUIRE(exit_code == 0);
  return tenon::end_to_end::read_file(file);
}

void write_png(const fs::path& file, int channels) {
  constexpr int kSide = 8;
  std::vector<std::byte> png;
  tenon::artifacts::encode_png(std::vector<std::byte>(static_cast<size_t>(kSide * kSide * channels)), kSide, kSide,
                               channels, png);
  fs::create_directories(file.parent_path());
  write_file(file, std::string(reinterpret_cast<const char*>(png.data()), png.size()));
}

// Writes small data for the datasets, because their fields depend on it.
void write_data(const fs::path& folder) {
  for (const char* file : {"photos/cat/1.png", "photos/dog/1.png", "shapes/images/1.png"}) write_png(folder / file, 3);
  write_png(folder / "shapes/masks/1.png", 1);
  write_file(folder / "photos.csv", "path,label\nphotos/cat/1.png,cat\nphotos/dog/1.png,dog\n");
  write_file(folder / "pairs.csv", "first,second,label\nphotos/cat/1.png,photos/dog/1.png,0\n");
  write_file(folder / "cars.csv", "weight,power,consumption\n1.2,90,5.5\n1.6,120,7.0\n");
  write_file(folder / "book.txt", std::string(1000, 'a') + "\n");
  std::string pairs = "source\ttarget\n";
  for (int day = 1; day <= 28; ++day)
    pairs += std::to_string(day) + " March 1999\t1999-03-" + std::to_string(day) + "\n";
  write_file(folder / "dates.tsv", pairs);
  fs::create_directory(folder / "arrays");
  for (const auto& [name, array] : {std::pair{"point.npy", make_npy("<f4", "(4, 2)", TarBytes(32))},
                                    std::pair{"label.npy", make_npy("<i8", "(4,)", TarBytes(32))}})
    write_file(folder / "arrays" / name, std::string(array.begin(), array.end()));
  const std::string image = tenon::end_to_end::read_file(folder / "photos/cat/1.png");
  const TarBytes shard = WrittenTar().add("000000.png", image).add("000000.cls", "1").bytes();
  fs::create_directory(folder / "shards");
  write_file(folder / "shards/000000.tar", std::string(shard.begin(), shard.end()));
  fs::copy(TENON_SOURCE_DIR "/tests/datasets/reference/parquet/images", folder / "animals",
           fs::copy_options::recursive);
}

}  // namespace

TEST_CASE("docs/reference/components.md equals the output of host describe for the bundled components") {
  write_data(tenon::test_folder());
  const std::string page = tenon::end_to_end::read_file(TENON_SOURCE_DIR "/docs/reference/components.md");
  const size_t begin = page.find("## model");
  std::string printed;
  for (const Described& component :
       std::vector<Described>{{"small_cnn", {"width=64", "stages=3"}},
                              {"mlp", {"hidden=[256, 128]"}},
                              {"resnet", {"depth=50"}},
                              {"efficientnet", {"variant=b0"}},
                              {"vit", {"variant=s_16", "image_size=224"}},
                              {"unet", {"classes=4", "depth=3"}},
                              {"siamese_cnn"},
                              {"seq2seq_transformer", {"width=128"}},
                              {"gpt", {"layers=4", "heads=4", "width=128", "context=256"}},
                              {"exported"},
                              {"digits", {"split=train"}},
                              {"image_folder", {"path=photos", "split=train"}},
                              {"image_csv", {"path=photos.csv", "labels=[\"label\"]"}},
                              {"pairs", {"path=pairs.csv"}},
                              {"segmentation", {"path=shapes", "classes=4"}},
                              {"tar_shards", {"path=shards"}},
                              {"parquet", {"path=animals", "split=train"}},
                              {"arrays", {"path=arrays"}},
                              {"table", {"path=cars.csv", "target=consumption", "task=regression"}},
                              {"synthetic", {"samples=1024", "height=32", "width=32"}},
                              {"text_pairs", {"path=dates.tsv", "model_type=char", "vocabulary_size=64"}},
                              {"text_windows", {"path=book.txt", "context=256"}},
                              {"cross_entropy", {"label_smoothing=0.1"}},
                              {"soft_cross_entropy"},
                              {"sequence_cross_entropy"},
                              {"focal", {"gamma=2.0"}},
                              {"dice"},
                              {"bce_with_logits"},
                              {"binary_focal"},
                              {"binary_dice"},
                              {"mse"},
                              {"l1"},
                              {"smooth_l1"},
                              {"huber"},
                              {"kl_divergence"},
                              {"ctc"},
                              {"accuracy"},
                              {"binary_accuracy"},
                              {"token_accuracy"},
                              {"perplexity"},
                              {"precision_recall_f1"},
                              {"binary_precision_recall_f1"},
                              {"confusion_matrix"},
                              {"iou"},
                              {"dice_score"},
                              {"roc_auc"},
                              {"binary_roc_auc"},
                              {"average_precision"},
                              {"binary_average_precision"},
                              {"mae"},
                              {"rmse"},
                              {"r2"},
                              {"bleu"},
                              {"rouge_l"},
                              {"early_stopping", {"monitor=validation/accuracy", "patience=5"}},
                              {"time_limit", {"budget=3 hours"}},
                              {"nan_guard"},
                              {"best_checkpoints"},
                              {"throughput"},
                              {"gradient_statistics"},
                              {"weight_statistics"}})
    printed += (printed.empty() ? "" : "\n") + describe(component);
  const fs::path made = tenon::test_folder() / "components.md";
  write_file(made, page.substr(0, begin) + printed);
  INFO("if the difference is intended, copy " << made.string() << " over docs/reference/components.md");
  const bool is_current = page.substr(begin) == printed;  // CHECK would print both texts
  CHECK(is_current);
}
