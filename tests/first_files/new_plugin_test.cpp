// Tests host new plugin. tests/package/check_new_plugin.sh builds and trains what it writes.
#include <doctest/doctest.h>

#include "host/new_plugin/plugin_project.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

namespace new_plugin_test {

using namespace tenon;
using end_to_end::check_errors;
using end_to_end::joined;
using end_to_end::Outcome;
using end_to_end::read_file;
using end_to_end::run_host;
namespace fs = std::filesystem;

namespace {

void check_refused(const std::vector<std::string>& arguments, const std::string& message) {
  const Outcome outcome = run_host(joined({"new", "plugin"}, arguments));
  check_errors(outcome, 2, {message});
  CHECK(outcome.output == "");
}

}  // namespace

TEST_CASE("host new plugin writes a project and prints how to build, test and run it") {
  const Outcome outcome =
      require_success(run_host({"new", "plugin", "edge_loss", "--kind", "loss", "--output", "a b/edge"}));
  CHECK(contains(outcome.output, "a b/edge: CMakeLists.txt, edge_loss.cpp with a loss, and edge_loss.toml"));
  CHECK(contains(outcome.output, "\ncmake -S 'a b/edge' -B 'a b/edge/build' -G Ninja "));
  CHECK(contains(outcome.output, "\nctest --test-dir 'a b/edge/build' --output-on-failure\n"));
  CHECK(outcome.output.ends_with("\nhost --config 'a b/edge/edge_loss.toml' --plugin-dir 'a b/edge/build'\n"));
  const fs::path folder = test_folder() / "a b" / "edge";
  for (const std::string file : {"CMakeLists.txt", "edge_loss.cpp", "edge_loss.toml"}) {
    CAPTURE(file);
    const std::string text = read_file(folder / file);
    CHECK(contains(text, "edge_loss"));
    CHECK_FALSE(contains(text, "my_name"));
    CHECK_FALSE(contains(text, "MyName"));
  }
  CHECK(contains(read_file(folder / "edge_loss.cpp"), "tenon::loss<EdgeLoss>(\"edge_loss\""));
}

TEST_CASE("the kind of a new plugin is a dataset by default, and each kind has a template") {
  REQUIRE(run_host({"new", "plugin", "points"}).exit_code == 0);
  CHECK(contains(read_file(test_folder() / "points" / "points.cpp"), "tenon::dataset<Points>"));
  for (const auto& [kind, name] : {std::pair(config::ComponentKind::dataset, "dataset"),
                                   {config::ComponentKind::model, "model"},
                                   {config::ComponentKind::loss, "loss"},
                                   {config::ComponentKind::metric, "metric"},
                                   {config::ComponentKind::callback, "callback"}}) {
    const auto files = host::make_plugin_project("edge", kind);
    CHECK(contains(files.at("edge.cpp"), "tenon::" + std::string(name) + "<Edge>(\"edge\""));
    CHECK(contains(files.at("edge.toml"), "use = \"edge\""));
  }
}

TEST_CASE("the template of image datasets has drawn images, lists of them, and a check with its path") {
  const Outcome outcome =
      require_success(run_host({"new", "plugin", "my_photos", "--kind", "dataset", "--template", "images"}));
  CHECK(contains(outcome.output, "; photos, train.txt and validation.txt with drawn images"));
  const fs::path folder = test_folder() / "my_photos";
  CHECK(contains(read_file(folder / "CMakeLists.txt"),
                 "--params \"dataset.my_photos={ path = '${CMAKE_CURRENT_SOURCE_DIR}/train.txt' }\""));
  CHECK(contains(read_file(folder / "my_photos.cpp"), "tenon::dataset<MyPhotos>(\"my_photos\""));
  CHECK(count_parts(read_file(folder / "train.txt"), ".png\n") == 120);
  CHECK(count_parts(read_file(folder / "validation.txt"), ".png\n") == 40);
  CHECK(fs::exists(folder / "photos/000.png"));
  CHECK(fs::exists(folder / "photos/159.png"));
  check_refused({"edge", "--kind", "loss", "--template", "images"},
                "--template is \"images\" for a loss; expected --kind dataset, which reads the images");
  check_refused({"edge", "--template", "image"}, "--template is \"image\"; did you mean \"images\"?");
}

TEST_CASE("host new plugin refuses wrong names, known components and folders with files") {
  check_refused({"my-loss"}, "\"my-loss\" is no name of a plugin; did you mean my_loss?; expected lower-case letters");
  check_refused({"EdgeLoss"}, "\"EdgeLoss\" is no name of a plugin; did you mean edgeloss?");
  check_refused({"2d"}, "\"2d\" is no name of a plugin; did you mean d?");
  check_refused({"../up"}, "\"../up\" is no name of a plugin; did you mean up?");
  check_refused({""}, "\"\" is no name of a plugin; expected lower-case letters");
  check_refused({"test"}, "\"test\" is a target of CMake; expected another name, such as test_plugin");
  check_refused({"mlp", "--kind", "model"}, "mlp.so already has a model \"mlp\"; expected another name");
  check_refused({"edge", "--kind", "los"}, "--kind is \"los\"; did you mean \"loss\"?; expected dataset, model, loss");
  check_refused({}, "new plugin has no name");
}

TEST_CASE("host new plugin keeps files") {
  end_to_end::write_file(test_folder() / "edge" / "notes.txt", "mine");
  check_refused({"edge"}, "edge is not empty; expected a new or empty folder: choose another with --output");
  check_refused({"edge", "--output", "edge/notes.txt"}, "edge/notes.txt is a file; expected a new or empty folder");
  CHECK_FALSE(fs::exists(test_folder() / "edge" / "edge.cpp"));
  fs::create_directory(test_folder() / "other");
  CHECK(run_host({"new", "plugin", "edge", "--output", "other"}).exit_code == 0);
}

TEST_CASE("the class of a plugin is named after it") {
  CHECK(host::make_class_name("edge") == "Edge");
  CHECK(host::make_class_name("edge_loss_2d") == "EdgeLoss2d");
  CHECK(host::make_class_name("x__y_") == "XY");
}

}  // namespace new_plugin_test
