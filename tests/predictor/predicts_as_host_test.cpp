// The library predicts the same bits as `host predict`, for each bundled model and an exported one.
#include <doctest/doctest.h>

#include "framework/artifacts/files/encode.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/predictor/exported_model.h"

using namespace tenon::end_to_end;

namespace {

std::string synthetic(const std::string& model, int side, int channels = 3) {
  const std::string params = "params = { samples = 7, classes = 4, channels = " + std::to_string(channels) +
                             ", height = " + std::to_string(side) + ", width = " + std::to_string(side) + " }\n";
  return "[model]\n" + model + "[data]\nbatch_size = " + std::to_string(kBatch) +
         "\nworkers = 0\n[data.train]\nuse = \"synthetic\"\n" + params + "[data.validation]\nuse = \"synthetic\"\n" +
         params + "[[loss]]\nuse = \"cross_entropy\"\n";
}

std::string text_windows(const std::filesystem::path& text) {
  const std::string dataset = "use = \"text_windows\"\nparams = { path = " + in_quotes(text) + ", context = 16 }\n";
  return "[model]\nuse = \"gpt\"\nparams = { context = 16, layers = 1, heads = 2, width = 8 }\n[data]\nbatch_size = 3\n"
         "workers = 0\n[data.train]\n" +
         dataset + "[data.validation]\n" + dataset + "[[loss]]\nuse = \"sequence_cross_entropy\"\n";
}

}  // namespace

TEST_CASE("models of images and numbers") {
  const std::pair<const char*, std::string> kModels[] = {
      {"efficientnet", synthetic("use = \"efficientnet\"\nparams = { width = 0.25, depth = 0.25 }\n", 32)},
      {"mlp", synthetic("use = \"mlp\"\nparams = { hidden = [8] }\n", 6)},
      {"resnet", synthetic("use = \"resnet\"\nparams = { width = 4, stem = \"cifar\" }\n", 16)},
      {"small_cnn", synthetic("use = \"small_cnn\"\nparams = { width = 4 }\n", 16)},
      {"vit", synthetic("use = \"vit\"\nparams = { variant = \"ti_16\", image_size = 32, width = 24, depth = 2, "
                        "heads = 3, mlp_width = 32 }\n",
                        32)},
      {"exported", synthetic("use = \"exported\"\nparams = { path = \"" TENON_SOURCE_DIR
                             "/tests/parity/reference/exported/cnn.pt2\", outputs = [\"logits\"] }\n",
                             8, 1)},
      {"residual", synthetic("use = \"exported\"\nparams = { path = \"" TENON_SOURCE_DIR
                             "/tests/parity/reference/exported/residual.pt2\", outputs = [\"logits\"] }\n",
                             8, 1)}};
  for (const auto& [name, body] : kModels) {
    CAPTURE(name);
    compare_with_host(export_model(name, body));
  }
}

TEST_CASE("a model with two inputs and two outputs") {
  const std::filesystem::path folder = make_empty_folder("pictures");
  std::string pairs = "first,second,label\n";
  for (int i = 0; i < 7; ++i) {
    std::string picture = "P6\n8 8\n255\n";
    for (int value = 0; value < 3 * 8 * 8; ++value) picture += static_cast<char>(value * (7 + i));
    write_file(folder / (std::to_string(i) + ".ppm"), picture);
    pairs += std::to_string(i) + ".ppm," + std::to_string((i + 1) % 7) + ".ppm," + std::to_string(i % 2) + "\n";
  }
  const std::string dataset =
      "use = \"pairs\"\nparams = { path = " + in_quotes(write_file(folder / "pairs.csv", pairs)) +
      ", transforms = [\"center_crop(8)\", \"normalize()\"] }\n";
  compare_with_host(
      export_model("siamese",
                   "[model]\nuse = \"siamese_cnn\"\nparams = { width = 4, values = 2 }\n[data]\nbatch_size = 3\n"
                   "workers = 0\n[data.train]\n" +
                       dataset + "[data.validation]\n" + dataset +
                       "[[loss]]\nuse = \"bce_with_logits\"\ninputs = { logits = \"model.same\", target = "
                       "\"data.label\" }\n"));
}

TEST_CASE("a model of masks") {
  const std::filesystem::path folder = make_empty_folder("pictures");
  for (int i = 0; i < 7; ++i) {
    std::string picture = "P6\n8 8\n255\n";
    std::vector<std::byte> mask, png;
    for (int pixel = 0; pixel < 8 * 8; ++pixel) {
      picture += std::string(3, static_cast<char>(pixel % 8 > i ? 120 : 10));
      mask.push_back(static_cast<std::byte>(pixel % 8 > i));
    }
    write_file(folder / "images" / (std::to_string(i) + ".ppm"), picture);
    tenon::artifacts::encode_png(mask, 8, 8, 1, png);
    write_file(folder / "masks" / (std::to_string(i) + ".png"),
               std::string(reinterpret_cast<const char*>(png.data()), png.size()));
  }
  const std::string dataset = "use = \"segmentation\"\nparams = { path = " + in_quotes(folder) +
                              ", classes = 2, transforms = [\"center_crop(8)\", \"normalize()\"] }\n";
  compare_with_host(
      export_model("unet",
                   "[model]\nuse = \"unet\"\nparams = { classes = 2, depth = 2, width = 4 }\n[data]\nbatch_size = 3\n"
                   "workers = 0\n[data.train]\n" +
                       dataset + "[data.validation]\n" + dataset + "[[loss]]\nuse = \"cross_entropy\"\n"));
}

TEST_CASE("models of texts") {
  const std::filesystem::path folder = make_empty_folder("texts");
  std::string text, pairs = "source\ttarget\n";
  for (int i = 0; i < 8; ++i) {
    text += "the quick brown fox jumps over line " + std::to_string(i) + ".\n";
    // One token for each letter. Three pairs of a batch differ in length, and the shorter ones are padded.
    const std::string word = std::string("abcdefgh").substr(0, static_cast<size_t>(8 - i % 3));
    pairs += static_cast<char>('a' + i) + word + "\t" + std::string(word.rbegin(), word.rend()) +
             static_cast<char>('h' - i) + "\n";
  }
  compare_with_host(export_model("gpt", text_windows(write_file(folder / "text.txt", text))));
  const std::string dataset =
      "use = \"text_pairs\"\nparams = { path = " + in_quotes(write_file(folder / "pairs.tsv", pairs)) +
      ", model_type = \"char\", vocabulary_size = 64 }\n";
  compare_with_host(
      export_model("seq2seq",
                   "[model]\nuse = \"seq2seq_transformer\"\nparams = { width = 8, heads = 2, encoder_layers = 1, "
                   "decoder_layers = 1, feed_forward = 8, dropout = 0.0 }\n[data]\nbatch_size = 3\nworkers = 0\n"
                   "[data.train]\n" +
                       dataset + "[data.validation]\n" + dataset + "[[loss]]\nuse = \"sequence_cross_entropy\"\n"));
}

TEST_CASE("a run in bfloat16") {
  compare_with_host(
      export_model("bf16", synthetic("use = \"small_cnn\"\nparams = { width = 4 }\n", 16), "precision = \"bf16\"\n"));
}
