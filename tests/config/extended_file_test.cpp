// Tests of `extends`, environment variables, `like` and exclusive keys, through read_run_config().
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "framework/config/file/format_run_plan.h"
#include "tests/config/run_file.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

namespace tenon::config {
namespace {

namespace fs = std::filesystem;

fs::path write(const std::string& name, const std::string& text) {
  const fs::path file = test_folder() / name;
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
  return file;
}

std::string refusal_of_file(const fs::path& file) {
  return find_error(support::ErrorKind::configuration, [&] { read_plan(file); });
}

}  // namespace

TEST_CASE("a run file extends another one key by key") {
  write("base.toml", kShortRunFile);
  const fs::path file = write("run.toml", "extends = \"base.toml\"\n[optimizer]\nlr = 0.25\n[run]\nseed = 7\n");
  const RunPlan plan = read_plan(file);
  CHECK(plan.optimizer.lr == 0.25);
  CHECK(plan.run.seed == 7);
  CHECK(plan.run.name == "run");
  CHECK(plan.train.epochs == 10);
  CHECK(plan.model.use == "small_cnn");
  CHECK(contains(plan.model.place, "base.toml:"));
  // An override applies last.
  CHECK(read_plan(file, {"run.seed=8"}).run.seed == 8);
}

TEST_CASE("lists are replaced, and so is a table with another component") {
  write("base.toml", kShortRunFile);
  const RunPlan plan = read_plan(write("run.toml",
                                       "extends = \"base.toml\"\n[model]\nuse = \"mlp\"\n"
                                       "[[loss]]\nuse = \"cross_entropy\"\nweight = 3\n"));
  CHECK(plan.model.use == "mlp");
  CHECK_FALSE(plan.model.params.contains("width"));
  REQUIRE(plan.losses.size() == 1);
  CHECK(plan.losses[0].weight == 3);
}

TEST_CASE("files are extended depth first, and relative paths start from the file that has them") {
  write("shared/deep/first.toml", kShortRunFile);
  write("shared/second.toml",
        "extends = \"deep/first.toml\"\n[model]\nweights = \"w.safetensors\"\n[run]\nseed = 1\n[train]\naccumulate = "
        "2\n");
  const RunPlan plan = read_plan(write("run.toml", "extends = \"shared/second.toml\"\n[run]\nseed = 2\n"));
  CHECK(plan.run.seed == 2);
  CHECK(plan.train.accumulate == 2);
  CHECK(plan.train.epochs == 10);
  CHECK(plan.model.weights == test_folder() / "shared/w.safetensors");
}

TEST_CASE("a key replaces the exclusive key of the extended file and of the run file") {
  write("base.toml", kShortRunFile);
  const fs::path file = write("run.toml", "extends = \"base.toml\"\n[train]\nsteps = 40\n");
  CHECK(read_plan(file).train.steps == 40);
  CHECK(read_plan(file).train.epochs == 0);
  CHECK(plan_of(kShortRunFile, {"train.steps=100"}).train.steps == 100);
  CHECK(plan_of(kShortRunFile, {"train.steps=100"}).train.epochs == 0);
  CHECK(plan_of(kShortRunFile, {"train.steps=100", "train.accumulate=2"}).train.steps == 100);
  // Two overrides contradict each other.
  CHECK(contains(error_of(kShortRunFile, {"train.steps=100", "train.epochs=2"}),
                 "train.epochs and train.steps are both set"));
}

TEST_CASE("files that extend each other, or too many of them, are refused with the chain") {
  write("a.toml", "extends = \"b.toml\"\n");
  write("b.toml", "extends = \"a.toml\"\n");
  const std::string circle = refusal_of_file(test_folder() / "a.toml");
  CHECK(contains(circle, "b.toml:1:11: extends leads back to the same file: a.toml -> b.toml -> a.toml; expected"));
  CHECK(contains(refusal_of_file(write("self.toml", "extends = \"self.toml\"\n")), "self.toml -> self.toml"));
  for (int i = 0; i < 20; ++i)
    write("many" + std::to_string(i) + ".toml", "extends = \"many" + std::to_string(i + 1) + ".toml\"\n");
  CHECK(contains(refusal_of_file(test_folder() / "many0.toml"), "extends leads through more than 16 files"));
}

TEST_CASE("an extended file that is missing or wrong is refused with its location") {
  CHECK(contains(refusal_of_file(write("run.toml", "extends = \"bsae.toml\"\n")), "run.toml:1:11: extends: "));
  CHECK(
      contains(refusal_of_file(write("run.toml", "extends = 3\n")), "run.toml:1:11: extends is 3; expected the path"));
  CHECK(contains(refusal_of_file(write("run.toml", "extends = \"\"\n")), "extends is \"\"; expected the path"));
  write("broken.toml", "[model\n");
  CHECK(contains(refusal_of_file(write("run.toml", "extends = \"broken.toml\"\n")), "broken.toml:1"));
  write("base.toml", std::string(kShortRunFile) + "[nonsense]\n");
  CHECK(contains(refusal_of_file(write("run.toml", "extends = \"base.toml\"\n")), "base.toml:"));
  CHECK(contains(error_of(kShortRunFile, {"extends=base.toml"}), "extends is applied only in a run file"));
}

TEST_CASE("environment variables are replaced in strings") {
  ::setenv("TENON_TEST_NAME", "named", 1);
  ::unsetenv("TENON_TEST_UNSET");
  const auto name_of = [](const std::string& name) {
    return plan_of(std::string(kShortRunFile) + "[run]\nname = \"" + name + "\"\n").run.name;
  };
  CHECK(name_of("${TENON_TEST_NAME}") == "named");
  CHECK(name_of("a-${TENON_TEST_NAME}-${TENON_TEST_UNSET:-b}") == "a-named-b");
  CHECK(name_of("${TENON_TEST_UNSET:-}x") == "x");
  CHECK(name_of("$${TENON_TEST_NAME}$") == "${TENON_TEST_NAME}$");
  const auto refusal = [](const std::string& name) {
    return error_of(std::string(kShortRunFile) + "[run]\nname = \"" + name + "\"\n");
  };
  CHECK(contains(refusal("${TENON_TEST_UNSET}"),
                 "run.name is \"${TENON_TEST_UNSET}\", but the environment variable "
                 "TENON_TEST_UNSET is not set; expected a value: set it, or write "
                 "${TENON_TEST_UNSET:-text}"));
  CHECK(contains(refusal("${2}"), "is not the name of an environment variable"));
  CHECK(contains(refusal("${TENON_TEST_NAME"), "where ${ has no }"));
  ::setenv("TENON_TEST_NAME", "caf\xE9", 1);
  CHECK(
      contains(refusal("${TENON_TEST_NAME}"), "the environment variable TENON_TEST_NAME is not UTF-8; expected UTF-8"));
}

TEST_CASE("a printed plan is read again without replacing variables") {
  ::setenv("TENON_TEST_NAME", "a${b}", 1);
  for (const char* name : {"$${TENON_TEST_NAME}", "${TENON_TEST_NAME}", "a$${b", "$x{}"}) {
    CAPTURE(name);
    const RunPlan plan = plan_of(std::string(kShortRunFile) + "[model.inputs]\nimage = \"data." + name + "\"\n");
    const RunPlan again = plan_of(format_run_plan(plan));
    CHECK(again.model.inputs.at("image") == plan.model.inputs.at("image"));
    CHECK(format_run_plan(again) == format_run_plan(plan));
  }
}

TEST_CASE("validation data like the training data have its parameters, except those that they set") {
  const std::string text =
      "model = { use = \"small_cnn\" }\nloss = [{ use = \"cross_entropy\" }]\ntrain = { steps = 5 }\n"
      "optimizer = { use = \"sgd\", lr = 0.1 }\n[data]\nbatch_size = 2\n"
      "[data.train]\nuse = \"digits\"\nparams = { split = \"train\" }\nsubset = \"50%\"\n";
  const RunPlan same = plan_of(text + "[data.validation]\nlike = \"train\"\n");
  CHECK(same.data.validation.at(0).use == "digits");
  CHECK(std::get<std::string>(same.data.validation[0].params.at("split")) == "train");
  CHECK(to_string(same.data.validation[0].subset) == "100%");
  const RunPlan other = plan_of(text + "[data.validation]\nlike = \"train\"\nparams = { split = \"test\" }\n");
  CHECK(std::get<std::string>(other.data.validation.at(0).params.at("split")) == "test");
  const RunPlan named = plan_of(text +
                                "[data.validation.clean]\nlike = \"train\"\n[data.validation.test]\nlike = "
                                "\"train\"\nparams = { split = \"test\" }\n");
  REQUIRE(named.data.validation.size() == 2);
  CHECK(named.data.validation[0].name == "validation/clean");
  CHECK(std::get<std::string>(named.data.validation[1].params.at("split")) == "test");
  // Overrides of the training data apply to both.
  const RunPlan overridden = plan_of(text + "[data.validation]\nlike = \"train\"\n", {"data.train.params.split=test"});
  CHECK(std::get<std::string>(overridden.data.validation.at(0).params.at("split")) == "test");
  CHECK(contains(error_of(text + "[data.validation]\nlike = \"train\"\nuse = \"table\"\n"),
                 "data.validation.like is \"train\", but data.validation.use is \"table\" and data.train.use is "
                 "\"digits\"; expected the same component"));
  CHECK(contains(error_of(text + "[data.validation]\nlike = \"test\"\n"),
                 "data.validation.like is \"test\"; expected \"train\""));
}

}  // namespace tenon::config
