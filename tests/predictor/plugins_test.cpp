// Models of plugins outside of the installation.
#include <doctest/doctest.h>

#include <tenon/draft/predictor.hpp>

#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"
#include "tests/predictor/exported_model.h"

using namespace tenon::end_to_end;
using tenon::draft::Predictor;
using tenon::draft::PredictorError;
namespace fs = std::filesystem;

namespace {

std::string refuse_options(const tenon::draft::PredictorOptions& options) {
  try {
    const Predictor predictor(options);
  } catch (const PredictorError& error) {
    CHECK(error.status() == TENON_FAILED);
    return error.what();
  }
  FAIL("it was opened");
  return "";
}

std::string in_folder(const std::string& folder, const std::string& body) {
  return "[plugins]\npaths = [\"" + folder + "\"]\n" + body;
}

ExportedModel export_detector() {
  return export_model("detector", in_folder(TENON_DETECTOR,
                                            "[model]\nuse = \"centre_net\"\n[data]\nbatch_size = 3\nworkers = 0\n"
                                            "[data.train]\nuse = \"shapes\"\nparams = { samples = 7 }\n"
                                            "[data.validation]\nuse = \"shapes\"\nparams = { samples = 7 }\n"
                                            "[[loss]]\nuse = \"centre_loss\"\n"));
}

}  // namespace

TEST_CASE("a detector has the results of host predict, and the number of boxes of each image") {
  compare_with_host(export_detector(), {TENON_DETECTOR});
}

TEST_CASE("a golden plugin of ABI 1.0") {
  const std::string folder = TENON_SOURCE_DIR "/tests/golden/1_0";
  const std::string dataset =
      "use = \"golden_dataset\"\nparams = { samples = 7, augment = false, table = \"" + folder + "/offsets.txt\" }\n";
  const std::string body =
      "[model]\nuse = \"golden_model\"\nparams = { width = 6 }\n[data]\nbatch_size = 3\n"
      "workers = 0\n[data.train]\n" +
      dataset + "[data.validation]\n" + dataset +
      "[[loss]]\nuse = \"golden_small\"\ninputs = { numbers = \"model.logits\" }\n";
  compare_with_host(export_model("golden", in_folder(folder, body)), {folder});
}

TEST_CASE("another build of the plugin is refused, unless the program accepts it") {
  const ExportedModel exported = export_detector();
  const fs::path other = make_empty_folder("other");
  fs::copy_file(fs::path(TENON_DETECTOR) / "detector_example.so", other / "detector_example.so");
  const std::string bytes = read_file(other / "detector_example.so");
  write_file(other / "detector_example.so", bytes + "\n");
  const std::string message = refuse_options({.model = exported.file, .plugins = {other.string()}});
  CHECK(tenon::contains(message, "detector_example.so: has the SHA-256"));
  CHECK(tenon::contains(message, "open the model with TENON_PREDICTOR_ANY_PLUGIN if you trust the new one"));
  const Predictor predictor({.model = exported.file, .plugins = {other.string()}, .accepts_any_plugin = true});
  CHECK(predictor.info().input_count == 1);
}

TEST_CASE("plugins come from the places that the program names alone") {
  const ExportedModel exported = export_detector();
  setenv("TENON_PLUGIN_PATH", TENON_DETECTOR, 1);
  CHECK(tenon::contains(refuse_options({.model = exported.file}), "detector_example.so"));
  unsetenv("TENON_PLUGIN_PATH");
}
