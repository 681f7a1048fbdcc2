#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

#include "tests/bad_plugins/validated.h"
#include "tests/datasets/written_tar.h"
#include "tests/end_to_end/hosted_run.h"

namespace fs = std::filesystem;
using namespace tenon::bad_plugins;

namespace {

const fs::path kPlugins = TENON_BINARY_DIR "/plugins";

void write_text(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
  REQUIRE(fs::file_size(file) == text.size());
}

// Writes an image of one colour. `i` changes its brightness and its size slightly.
void write_image(const fs::path& folder, const std::string& name, int i, int type = CV_8UC3) {
  fs::create_directories(folder);
  REQUIRE(cv::imwrite((folder / name).string(), cv::Mat(20 + i, 24, type, cv::Scalar::all(i))));
}

// Data for the datasets that read files, in one folder, and the parameters for reading it.
class ExampleData {
 public:
  ExampleData() : folder_(tenon::end_to_end::make_empty_folder("examples")) {
    std::string table = "path,other,label\n";
    for (int i = 0; i < 8; ++i) {
      const std::string name = std::to_string(i) + ".png";
      write_image(folder_ / "images" / (i % 2 == 0 ? "bright" : "dark"), name, i);
      write_image(folder_ / "scenes/images", name, i);
      write_image(folder_ / "scenes/masks", name, i, CV_8UC1);
      table += "scenes/images/" + name + ",scenes/masks/" + name + (i % 2 == 0 ? ",bright\n" : ",dark\n");
    }
    write_text(folder_ / "table.csv", table);
    write_text(folder_ / "levels.idx", std::string("\0\0\x08\x03\0\0\0\x04\0\0\0\x01\0\0\0\x02levelsof", 24));
    WrittenTar shard;
    for (int i = 0; i < 4; ++i) {
      const std::string name = std::to_string(i);
      shard.add(name + ".png", tenon::end_to_end::read_file(folder_ / "scenes/images" / (name + ".png")));
      shard.add(name + ".x.npy", make_npy("|u1", "(2,)", {1, 2})).add(name + ".cls", name);
    }
    const TarBytes bytes = shard.bytes();
    write_text(folder_ / "shard.tar", std::string(bytes.begin(), bytes.end()));
    const std::string header = R"({"x":{"dtype":"F32","shape":[4,1],"data_offsets":[0,16]}})";
    write_text(folder_ / "texts.tsv", "source\ttarget\none\teins\ntwo\tzwei\nthree\tdrei\nfour\tvier\n");
    write_text(folder_ / "numbers.csv", "x,kind,y\n1,a,2\n2,b,4\n3,a,6\n4,b,8\n");
    write_text(folder_ / "text.txt", "One tenon fits one mortise, and two tenons fit two of them.\n");
    write_text(folder_ / "values.safetensors",
               std::string(1, static_cast<char>(header.size())) + std::string(7, '\0') + header + std::string(16, '?'));
  }

  std::vector<std::string> params_of(const std::string& plugin) const {
    const std::map<std::string, std::string> params = {
        {"arrays", "dataset.arrays={ " + path("values.safetensors")},
        {"exported", "model.exported={ path = \"" TENON_SOURCE_DIR "/tests/parity/reference/exported/cnn.pt2\""},
        {"gpt", "model.gpt={ vocabulary_size = 20, context = 16, width = 8, heads = 2, layers = 2"},
        {"idx", "dataset.idx={ images = " + quoted("levels.idx")},
        {"image_csv", "dataset.image_csv={ " + path("table.csv")},
        {"image_folder", "dataset.image_folder={ " + path("images")},
        // The checks try inputs that are probabilities last.
        {"kl_divergence", "loss.kl_divergence={ target = \"logits\""},
        {"pairs", "dataset.pairs={ " + path("table.csv") + ", first = \"path\", second = \"other\""},
        {"run_guards", "callback.time_limit={ budget = \"1 hour\""},
        {"segmentation", "dataset.segmentation={ " + path("scenes") + ", classes = 8"},
        // With their default sizes, these models would take minutes.
        {"efficientnet", "model.efficientnet={ width = 0.1, depth = 0.1, classes = 3"},
        {"vit",
         "model.vit={ image_size = 8, patch_size = 4, width = 8, depth = 2, heads = 2, mlp_width = 16, classes = 3"},
        {"resnet", "model.resnet={ width = 2, classes = 3"},
        {"seq2seq_gru", "model.seq2seq_gru={ vocabulary_size = 20, width = 8, generate = 4"},
        {"seq2seq_transformer",
         "model.seq2seq_transformer={ vocabulary_size = 20, width = 8, heads = 2, encoder_layers = 1, "
         "decoder_layers = 1, feed_forward = 16"},
        {"siamese_cnn", "model.siamese_cnn={ width = 2, values = 1"},
        {"unet", "model.unet={ depth = 1, width = 2"},
        {"table", "dataset.table={ " + path("numbers.csv") + ", target = \"y\", task = \"regression\""},
        {"tar_shards", "dataset.tar_shards={ " + path("shard.tar")},
        {"text_pairs", "dataset.text_pairs={ " + path("texts.tsv")},
        {"text_windows", "dataset.text_windows={ " + path("text.txt") + ", context = 8"},
    };
    const std::map<std::string, std::vector<std::string>> metrics_of_classes = {
        {"confusion_metrics", {"confusion_matrix", "dice_score", "iou", "precision_recall_f1"}},
        {"ranking_metrics", {"average_precision", "roc_auc"}},
    };
    if (const auto metrics = metrics_of_classes.find(plugin); metrics != metrics_of_classes.end()) {
      std::vector<std::string> options;
      for (const std::string& metric : metrics->second) options.push_back("metric." + metric + "={ classes = 3 }");
      return options;
    }
    const auto found = params.find(plugin);
    if (found == params.end()) return {};
    return {found->second + " }"};
  }

 private:
  std::string quoted(const std::string& name) const { return '"' + (folder_ / name).string() + '"'; }
  std::string path(const std::string& name) const { return "path = " + quoted(name); }

  fs::path folder_;
};

void check_passes(const fs::path& plugin, const ExampleData& data) {
  const Answer answer = validate(plugin.string(), {data.params_of(plugin.stem().string())});
  CAPTURE(plugin.string());
  CAPTURE(answer.text);
  CHECK(answer.exit_code == 0);
  CHECK(answer.with("fail").empty());
  CHECK(answer.with("pass").size() >= 8);
}

}  // namespace

TEST_CASE("a bundled plugin of each kind passes") {
  const ExampleData data;
  for (const char* name : {"accuracy", "cross_entropy", "digits", "early_stopping", "mlp", "segmentation"})
    check_passes(kPlugins / (name + std::string(".so")), data);
}

TEST_CASE("every bundled plugin passes" * doctest::test_suite("soak") * doctest::skip()) {
  const ExampleData data;
  size_t looked_at = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(kPlugins)) {
    if (entry.path().extension() != ".so") continue;
    check_passes(entry.path(), data);
    ++looked_at;
  }
  CHECK(looked_at >= 34);
}

TEST_CASE("the checks of bundled plugins are not skipped") {
  const ExampleData data;
  const auto status = [&](const std::string& plugin, const std::string& check) {
    const size_t blank = check.find(' ');
    const Options options{data.params_of(plugin), check.substr(0, blank), check.substr(blank + 1)};
    const Answer answer = validate((kPlugins / (plugin + ".so")).string(), options);
    CAPTURE(answer.text);
    REQUIRE(answer.statuses.contains(check));
    CHECK(answer.statuses.at(check) == "pass");
  };
  status("mlp", "model.mlp gradcheck");
  status("mlp", "model.mlp frame-tensors");
  status("mlp", "model.mlp autocast");
  status("small_cnn", "model.small_cnn gradients");
  status("seq2seq_transformer", "model.seq2seq_transformer gradients");
  for (const std::string model : {"gpt", "resnet", "seq2seq_gru", "siamese_cnn", "unet"}) {
    status(model, "model." + model + " gradients");
    status(model, "model." + model + " gradcheck");
  }
  const std::pair<const char*, std::vector<std::string>> losses[] = {
      {"bce_with_logits", {"bce_with_logits"}},
      {"cross_entropy", {"cross_entropy", "sequence_cross_entropy"}},
      {"ctc", {"ctc"}},
      {"dice_losses", {"binary_dice", "dice"}},
      {"focal_losses", {"binary_focal", "focal"}},
      {"kl_divergence", {"kl_divergence"}},
      {"regression_losses", {"huber", "l1", "mse", "smooth_l1"}},
      {"soft_cross_entropy", {"soft_cross_entropy"}}};
  for (const auto& [plugin, components] : losses)
    for (const std::string& loss : components) status(plugin, "loss." + loss + " gradcheck");
  const std::pair<const char*, std::vector<std::string>> metrics[] = {
      {"accuracy", {"accuracy"}},
      {"binary_accuracy", {"binary_accuracy"}},
      {"confusion_metrics",
       {"binary_precision_recall_f1", "confusion_matrix", "dice_score", "iou", "precision_recall_f1"}},
      {"perplexity", {"perplexity"}},
      {"ranking_metrics", {"average_precision", "binary_average_precision", "binary_roc_auc", "roc_auc"}},
      {"regression_metrics", {"mae", "r2", "rmse"}},
      {"text_metrics", {"bleu", "rouge_l"}},
      {"token_accuracy", {"token_accuracy"}}};
  for (const auto& [plugin, components] : metrics)
    for (const std::string& metric : components) status(plugin, "metric." + metric + " adds-up");
  status("digits", "dataset.digits threads");
  status("text_pairs", "dataset.text_pairs sample-lengths");
  status("early_stopping", "callback.early_stopping events");
  for (const std::string callback : {"time_limit", "nan_guard", "best_checkpoints"})
    status("run_guards", "callback." + callback + " events");
  status("run_guards", "callback.nan_guard saved-state");
  status("run_guards", "callback.best_checkpoints foreign-state");
  for (const std::string callback : {"throughput", "gradient_statistics", "weight_statistics"})
    status("run_statistics", "callback." + callback + " events");
  for (const std::string dataset : {"arrays", "idx", "image_csv", "image_folder", "pairs", "segmentation", "table",
                                    "tar_shards", "text_pairs", "text_windows"}) {
    status(dataset, "dataset." + dataset + " threads");
  }
}
