// `host evaluate` and `host predict` with a model file in place of a run file.
#include <doctest/doctest.h>

#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"
#include "tests/predictor/exported_model.h"

using namespace tenon::end_to_end;
using tenon::contains;
namespace fs = std::filesystem;

namespace {

// What evaluate prints after the name of the weights.
std::string print_evaluation(const std::string& config, const std::vector<std::string>& more = {}) {
  const std::string output = require_success(run_host(joined({"evaluate", "--config", config}, more))).output;
  return output.substr(output.find('\n'));
}

std::string write_predictions(const std::string& config, const fs::path& output, const std::vector<std::string>& more) {
  require_success(run_host(joined({"predict", "--config", config, "--output", output.string()}, more)));
  return read_file(output);
}

const std::string kDigitsAndAccuracy =
    "[data]\nbatch_size = 64\nworkers = 0\n[data.train]\nuse = \"digits\"\nparams = { split = \"train\" }\n"
    "[data.validation]\nuse = \"digits\"\nparams = { split = \"test\" }\n[[loss]]\nuse = \"cross_entropy\"\n"
    "[[metric]]\nuse = \"accuracy\"\n";

}  // namespace

TEST_CASE("a model of Tenon and one of torch.export are evaluated as the run evaluates them") {
  const std::string exported = "[model]\nuse = \"exported\"\nparams = { path = \"" TENON_SOURCE_DIR
                               "/tests/parity/reference/exported/cnn.pt2\", outputs = [\"logits\"] }\n";
  for (const auto& [name, model] :
       {std::pair("mlp", std::string("[model]\nuse = \"mlp\"\nparams = { hidden = [4] }\n")), {"exported", exported}}) {
    CAPTURE(name);
    const ExportedModel both = export_model(name, model + kDigitsAndAccuracy);
    CHECK(print_evaluation(both.file) == print_evaluation(both.config));
    CHECK(write_predictions(both.file, both.folder / "a.csv", {"--data", "validation"}) ==
          write_predictions(both.config, both.folder / "b.csv", {"--data", "validation"}));
    const Outcome outcome = require_success(run_host({"evaluate", "--config", both.file}));
    CHECK(contains(outcome.output.substr(0, outcome.output.find('\n')), name + std::string(".tenon")));
    CHECK(contains(require_success(run_host({"evaluate", "--config", both.file, "--json"})).output, both.file));
  }
}

TEST_CASE("a table is predicted without the data of the training") {
  std::string table = "x,kind,y\n", rows = "kind,x\n";
  for (int i = 0; i < 9; ++i) {
    const std::string kind = i % 2 ? "first" : "second";
    table += std::to_string(i) + "," + kind + "," + std::to_string(3 * i) + "\n";
    rows += kind + "," + std::to_string(10 + i) + "\n";
  }
  const fs::path folder = make_empty_folder("rows");
  const std::string dataset = "use = \"table\"\nparams = { path = " + in_quotes(write_file(folder / "all.csv", table)) +
                              ", target = \"y\", task = \"regression\" }\n";
  const ExportedModel exported = export_model(
      "table",
      "[model]\nuse = \"mlp\"\nparams = { hidden = [4], classes = 1 }\ninputs = { image = \"data.features\" }\n"
      "[data]\nbatch_size = 4\nworkers = 0\n[data.train]\n" +
          dataset + "[data.validation]\n" + dataset + "[[loss]]\nuse = \"mse\"\n");
  const std::vector<std::string> changes = {
      "--data", "validation",
      "--set",  "data.validation.params.path=" + in_quotes(write_file(folder / "rows.csv", rows)),
      "--set",  "data.validation.params.with_target=false"};
  const std::string expected = write_predictions(exported.config, folder / "a.csv", changes);
  fs::remove(folder / "all.csv");
  CHECK(write_predictions(exported.file, folder / "b.csv", changes) == expected);
  check_errors(run_host({"evaluate", "--config", exported.file}), 4, {"(set data.validation.params.path)"});
}

TEST_CASE("other commands, and what is wrong in a model file, are refused by name") {
  const ExportedModel exported =
      export_model("digits", "[model]\nuse = \"mlp\"\nparams = { hidden = [4] }\n" + kDigitsAndAccuracy);
  check_errors(run_host({"--config", exported.file}), 2,
               {"digits.tenon, a model file, which only evaluate and predict read; expected a run file"});
  check_errors(run_host({"evaluate", "--config", exported.file, "--set", "model.params.hidden=7"}), 2,
               {"model.params.hidden is 7"});
  const std::string bytes = read_file(exported.file);
  const fs::path cut = write_file(exported.folder / "cut.tenon", bytes.substr(0, bytes.size() / 2));
  check_errors(run_host({"evaluate", "--config", cut.string()}), 5,
               {"cut.tenon: is not a model file, or is cut short"});
}
