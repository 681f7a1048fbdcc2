#include <doctest/doctest.h>

#include <algorithm>
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
        {"image_csv", "dataset.image_csv={ " + path("table.csv")},
        {"image_folder", "dataset.image_folder={ " + path("images")},
        {"pairs", "dataset.pairs={ " + path("table.csv") + ", first = \"path\", second = \"other\""},
        {"parquet", "dataset.parquet={ path = \"" TENON_SOURCE_DIR
                    "/tests/datasets/reference/parquet/images\", split = \"train\""},
        {"run_guards", "callback.time_limit={ budget = \"1 hour\""},
        {"segmentation", "dataset.segmentation={ " + path("scenes") + ", classes = 8"},
        {"table", "dataset.table={ " + path("numbers.csv") + ", target = \"y\", task = \"regression\""},
        {"tar_shards", "dataset.tar_shards={ " + path("shard.tar")},
        {"text_pairs", "dataset.text_pairs={ " + path("texts.tsv")},
        {"text_windows", "dataset.text_windows={ " + path("text.txt") + ", context = 8"},
        // With their default sizes, these pass in 3 s to several minutes.
        {"efficientnet", "model.efficientnet={ width = 0.1, depth = 0.1, classes = 3"},
        {"resnet", "model.resnet={ width = 2, classes = 3"},
        {"seq2seq_transformer",
         "model.seq2seq_transformer={ vocabulary_size = 20, width = 8, heads = 2, encoder_layers = 1, "
         "decoder_layers = 1, feed_forward = 16"},
        {"synthetic", "dataset.synthetic={ height = 8, width = 8"},
        {"unet", "model.unet={ depth = 1, width = 2"},
        {"vit",
         "model.vit={ image_size = 8, patch_size = 4, width = 8, depth = 2, heads = 2, mlp_width = 16, classes = 3"},
    };
    const auto found = params.find(plugin);
    if (found == params.end()) return {};
    return {found->second + " }"};
  }

 private:
  std::string quoted(const std::string& name) const { return '"' + (folder_ / name).string() + '"'; }
  std::string path(const std::string& name) const { return "path = " + quoted(name); }

  fs::path folder_;
};

// Why a check of a bundled plugin may be skipped: the component has nothing that it applies to.
const std::pair<std::string, std::string> kSkipped[] = {
    {"class-numbers", "it declares no classes"},
    {"declared-operators", "the plugin does not declare its operators"},
    {"extensions", "it has no get_extension"},
    {"fingerprint", "it has no fingerprint"},
    {"foreign-state", "it has no saved state"},
    {"frame-tensors", "it rejects tensors other than those it was built with"},  // the weights of a torch::nn::Module
    {"odd-params", "it has no parameters"},
    {"operators", "it does not declare its operators"},
    {"parts", "it has no parts"},
    {"results", "it does not provide them"},
    {"sample-lengths", "it does not provide them"},
    {"sample-weights", "it does not provide them"},
    {"saved-state", "it has no saved state"},
    {"workers", "it has no open_worker"},
};

bool may_be_skipped(const std::string& name, const std::string& reason) {
  const std::string check = name.substr(name.find(' ') + 1);
  return std::ranges::any_of(kSkipped,
                             [&](const auto& each) { return check == each.first && reason.starts_with(each.second); });
}

std::vector<fs::path> bundled_plugins() {
  std::vector<fs::path> plugins;
  for (const fs::directory_entry& entry : fs::directory_iterator(kPlugins))
    if (entry.path().extension() == ".so") plugins.push_back(entry.path());
  std::ranges::sort(plugins);
  return plugins;
}

// The folders of plugins/ with the sources of the bundled plugins.
const std::string kKinds[] = {"callbacks", "datasets", "losses", "metrics", "models"};

bool is_source_in(const std::string& kind, const fs::path& plugin) {
  return fs::is_directory(fs::path(TENON_SOURCE_DIR "/plugins") / kind / plugin.stem());
}

void check_passes(const fs::path& plugin, const ExampleData& data) {
  const Answer answer = validate(plugin.string(), {data.params_of(plugin.stem().string())});
  CAPTURE(plugin.string());
  CAPTURE(answer.text);
  CHECK(answer.exit_code == 0);
  CHECK(answer.with("fail").empty());
  CHECK(answer.with("warning").empty());
  for (const std::string& check : answer.with("skipped")) {
    CAPTURE(check);
    CHECK(may_be_skipped(check, answer.reasons.at(check)));
  }
}

void check_all_pass(const std::string& kind) {
  const ExampleData data;
  size_t checked = 0;
  for (const fs::path& plugin : bundled_plugins()) {
    if (!is_source_in(kind, plugin)) continue;
    check_passes(plugin, data);
    ++checked;
  }
  CHECK(checked > 0);
}

}  // namespace

TEST_CASE("every bundled callback passes") { check_all_pass("callbacks"); }
TEST_CASE("every bundled dataset passes") { check_all_pass("datasets"); }
TEST_CASE("every bundled loss passes") { check_all_pass("losses"); }
TEST_CASE("every bundled metric passes") { check_all_pass("metrics"); }
TEST_CASE("every bundled model passes") { check_all_pass("models"); }

TEST_CASE("every bundled plugin is in one of these tests") {
  CHECK(bundled_plugins().size() >= 34);
  for (const fs::path& plugin : bundled_plugins()) {
    CAPTURE(plugin.string());
    CHECK(std::ranges::count_if(kKinds, [&](const std::string& kind) { return is_source_in(kind, plugin); }) == 1);
  }
}
