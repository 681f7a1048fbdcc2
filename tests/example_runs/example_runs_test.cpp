// Trains the run files that use data of scripts/example-data for a few steps.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

#include "tests/end_to_end/hosted_run.h"
#include "tests/example_runs/example_data.h"

namespace fs = std::filesystem;
using namespace tenon::end_to_end;

namespace {

// Trains thirty steps with batches of eight with the data in `table_or_folder`. Returns the run folder.
fs::path train(const std::string& config, const fs::path& table_or_folder, const std::vector<std::string>& more = {}) {
  const fs::path output = make_empty_folder("runs_of_" + config);
  const std::string path = ".params.path=\"" + table_or_folder.string() + "\"";
  std::vector<std::string> arguments{"--config", TENON_SOURCE_DIR "/configs/" + config + ".toml"};
  for (const std::string& word :
       {"data.train" + path, "data.validation" + path, "run.output_dir=\"" + output.string() + "\"",
        std::string("train.epochs=1"), std::string("data.batch_size=8"), std::string("run.threads=1"),
        std::string("data.limit_batches=30"), std::string("data.validation_limit_batches=2"),
        std::string("log.every=\"1 steps\"")})
    arguments.insert(arguments.end(), {"--set", word});
  for (const std::string& word : more) arguments.insert(arguments.end(), {"--set", word});
  require_success(run_host(arguments));
  return find_run_folder(output, config);
}

// Returns the training loss of each step.
std::vector<double> read_losses(const fs::path& run_folder) {
  std::vector<double> losses;
  for (const std::string& line : parts_of(read_file(run_folder / "history.jsonl"), '\n')) {
    const auto metrics = nlohmann::json::parse(line);
    if (metrics.at("event") == "step") losses.push_back(metrics.at("train/loss"));
  }
  return losses;
}

double mean_of(std::vector<double>::const_iterator first, std::vector<double>::const_iterator last) {
  double sum = 0;
  for (auto loss = first; loss != last; ++loss) sum += *loss;
  return sum / static_cast<double>(last - first);
}

void check_falling(const fs::path& run_folder) {
  const std::vector<double> losses = read_losses(run_folder);
  REQUIRE(losses.size() == 30);
  CHECK(mean_of(losses.end() - 10, losses.end()) < mean_of(losses.begin(), losses.begin() + 10));
}

// The counts of the report give the same values as the metric.
void check_unions(const fs::path& run_folder) {
  const auto samples = nlohmann::json::parse(read_file(run_folder / "samples" / "samples.json"));
  double both[4] = {}, either[4] = {};
  for (const auto& cell : samples["classes"][0]["counts"]) {
    const size_t target = cell[0], predicted = cell[1];
    either[target] += cell[2].get<double>();
    if (target == predicted)
      both[target] += cell[2].get<double>();
    else
      either[predicted] += cell[2].get<double>();
  }
  for (size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    CHECK(both[i] / either[i] == doctest::Approx(read_last_metric(run_folder, "validation/iou_" + std::to_string(i))));
  }
}

}  // namespace

TEST_CASE("segmentation.toml trains on the shapes") {
  const fs::path run = train("segmentation", make_example_data("shapes"));
  check_falling(run);
  for (const char* metric : {"validation/iou", "validation/iou_0", "validation/iou_3"}) {
    const double value = read_last_metric(run, metric);
    CHECK(value >= 0);
    CHECK(value <= 1);
  }
  check_unions(run);
}

TEST_CASE("pairs.toml trains on whether two pictures show the same shape, and how much larger one is" *
          doctest::test_suite("soak") * doctest::skip()) {
  const fs::path run = train("pairs", make_example_data("pairs") / "pairs.csv");
  check_falling(run);
  const double accuracy = read_last_metric(run, "validation/binary_accuracy");
  CHECK(accuracy >= 0);
  CHECK(accuracy <= 1);
  CHECK(read_last_metric(run, "validation/mae") > 0);
}

TEST_CASE("multi_task.toml trains on a class and a number, and weighs their losses") {
  const fs::path run = train("multi_task", make_example_data("classes") / "classes.csv");
  check_falling(run);
  CHECK(read_last_metric(run, "validation/mae") > 0);
  const double sum = read_last_metric(run, "validation/cross_entropy") + 10 * read_last_metric(run, "validation/mse");
  CHECK(read_last_metric(run, "validation/loss") == doctest::Approx(sum));
}

TEST_CASE("vit_recipe.toml trains with timm's recipe") {
  // Images of four brightnesses.
  const fs::path folder = make_empty_folder("data_of_vit_recipe");
  cv::RNG random(3);
  for (int i = 0; i < 360; ++i) {
    const fs::path of_class = folder / std::to_string(i % 4);
    fs::create_directories(of_class);
    cv::Mat image(28, 28, CV_8UC3);
    random.fill(image, cv::RNG::UNIFORM, 60 * (i % 4), 60 * (i % 4) + 60);
    cv::imwrite((of_class / (std::to_string(i) + ".png")).string(), image);
  }
  check_falling(train("vit_recipe", folder));
}

TEST_CASE("gpt.toml trains on any text") {
  std::string text;
  for (int i = 0; i < 4000; ++i) text += "The " + std::to_string(i % 37) + "th tenon fits its mortise.\n";
  const fs::path file = make_empty_folder("data_of_gpt") / "text.txt";
  write_file(file, text);
  const fs::path run = train("gpt", file);
  check_falling(run);
  CHECK(read_last_metric(run, "validation/perplexity") < 100);
}

TEST_CASE("summarize.toml trains on pairs of texts and records ROUGE-L" * doctest::test_suite("soak") *
          doctest::skip()) {
  const fs::path table = make_example_data("dates") / "dates.tsv";
  const fs::path run = train("summarize", table, {"data.validation.params.tokenizer_text=\"" + table.string() + "\""});
  check_falling(run);
  const double rouge_l = read_last_metric(run, "validation/rouge_l");
  CHECK(rouge_l >= 0);
  CHECK(rouge_l <= 1);
}

TEST_CASE("regression.toml trains on a number and tabular.toml on a class of each row of a table") {
  std::string cars = "mpg,cylinders,displacement,horsepower,weight,acceleration,model_year,origin,car_name\n";
  std::string wines =
      "label,alcohol,malic_acid,ash,alcalinity_of_ash,magnesium,total_phenols,flavanoids,nonflavanoid_phenols,"
      "proanthocyanins,color_intensity,hue,od280_od315,proline\n";
  for (int i = 0; i < 600; ++i) {
    cars += std::to_string(10 + i % 20) + ",4,200,90," + std::to_string(4000 - 100 * (i % 20)) + ",15,7" +
            std::to_string(i % 7) + ',' + std::to_string(i % 3 + 1) + ",car " + std::to_string(i) + '\n';
    wines += std::to_string(i % 3);
    for (int j = 0; j < 13; ++j) wines += ',' + std::to_string(i % 3 * j + i * j % 10);
    wines += '\n';
  }
  const fs::path folder = make_empty_folder("tables");
  const fs::path regression = train("regression", write_file(folder / "cars.csv", cars));
  check_falling(regression);
  CHECK(read_last_metric(regression, "validation/rmse") >= read_last_metric(regression, "validation/mae"));
  CHECK(read_last_metric(regression, "validation/r2") <= 1);
  const fs::path classification = train("tabular", write_file(folder / "wine.csv", wines));
  check_falling(classification);
  CHECK(read_last_metric(classification, "validation/accuracy") > 0.4);
}
