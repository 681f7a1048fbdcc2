#include "framework/config/file/read_run_config.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/config/run_file.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

namespace tenon::config {
namespace {

RunConfig read(const std::string& text) { return read_run_config(write_run_file(text), {}); }

std::string place_of(const SourceLocation& place) {
  const std::string text = to_string(place);
  return text.substr(text.rfind('/') + 1);
}

}  // namespace

TEST_CASE("unset keys stay unset and have the location of their table") {
  const RunConfig config = read("[train]\nepochs = 3\n");
  CHECK(config.declared.train.epochs == 3);
  CHECK(place_of(config.place_of("train.epochs")) == "digits.toml:2:10");
  CHECK_FALSE(config.key("train.steps").is_set);
  CHECK(place_of(config.place_of("train.steps")) == "digits.toml:1:1");
  CHECK_FALSE(config.key("run.seed").is_set);
}

TEST_CASE("columns count characters") {
  const RunConfig config = read("[model]\ninputs = { \"größe\" = \"data.size\", b = \"data.label\" }\n");
  CHECK(place_of(config.model.inputs.at("b").place) == "digits.toml:2:39");
}

TEST_CASE("named validation datasets keep the order of the file") {
  const RunConfig config = read("[data.validation.z]\nuse = \"digits\"\n[data.validation.a]\nuse = \"digits\"\n");
  REQUIRE(config.declared.data.validation.size() == 2);
  CHECK(config.declared.data.validation[0].name == "validation/z");
  CHECK(config.declared.data.validation[1].name == "validation/a");
}

TEST_CASE("Windows line endings and tabs are valid TOML") {
  CHECK(read("[train]\r\n\tepochs = 3\r\n").declared.train.epochs == 3);
}

TEST_CASE("a file that cannot be read is reported with its name and the reason") {
  try {
    read_run_config("no/such/run.toml", {});
    FAIL("no error");
  } catch (const support::Error& error) {
    CHECK(error.kind() == support::ErrorKind::configuration);
    CHECK(std::string(error.what()) ==
          "no/such/run.toml: cannot be read: No such file or directory; expected a run file (TOML)");
  }
}

TEST_CASE("a run file that is no regular file is refused as what it is, without waiting for a writer") {
  const auto refusal = [](const std::filesystem::path& file) -> std::string {
    return find_error(support::ErrorKind::configuration, [&] { read_run_config(file, {}); });
  };
  const std::filesystem::path& folder = tenon::test_folder();
  REQUIRE(mkfifo((folder / "fifo.toml").c_str(), 0600) == 0);
  CHECK(refusal(folder) == folder.string() + ": is a folder; expected a regular file");
  CHECK(refusal(folder / "fifo.toml") == (folder / "fifo.toml").string() + ": is a FIFO; expected a regular file");
  CHECK(refusal("/dev/zero") == "/dev/zero: is a device; expected a regular file");
}

TEST_CASE("paths of the plan must be UTF-8") {
  const std::filesystem::path folder = tenon::test_folder() / "caf\xE9", file = folder / "run.toml";
  std::filesystem::create_directory(folder);
  std::ofstream(file) << "";
  const auto refusal = [](const std::filesystem::path& config, const std::vector<std::filesystem::path>& plugins) {
    return find_error(support::ErrorKind::configuration, [&] { read_run_config(config, {}, plugins); });
  };
  const std::string expected =
      ": the path is not UTF-8; expected UTF-8, because the run's plan.toml has paths: rename the file or folder";
  CHECK(refusal(file, {}) == file.string() + expected);
  CHECK(refusal(TENON_SOURCE_DIR "/configs/digits.toml", {folder}) == folder.string() + expected);
}

TEST_CASE("all errors are listed in the order of the file") {
  const std::string message = error_of("[train]\nsteps = 0\nepoch = 1\n[run]\nseed = \"x\"\n[data]\nworkers = -1\n");
  CHECK(message ==
        "digits.toml:2:9: train.steps is 0; expected an integer in [1, 1e15]\n"
        "digits.toml:3:1: train.epoch is not a key of train; did you mean \"epochs\"?\n"
        "digits.toml:5:8: run.seed is \"x\"; expected an integer in [0, 9223372036854775807]\n"
        "digits.toml:7:11: data.workers is -1; expected an integer in [0, 4096] or \"auto\"");
}

TEST_CASE("an unknown key is suggested in the table that it belongs to") {
  const auto suggestion = [](const std::string& text) {
    const std::string message = error_of(text);
    const size_t begin = message.find("; did you mean ");
    return begin == message.npos ? message : message.substr(begin + 2, message.find('\n') - begin - 2);
  };
  CHECK(suggestion("[train]\nbatch_size = 3\n") == "did you mean \"data.batch_size\"?");
  CHECK(suggestion("[train]\nseed = 3\n") == "did you mean \"run.seed\"?");
  CHECK(suggestion("[train]\nmax_epochs = 3\n") == "did you mean \"epochs\"?");
  CHECK(suggestion("[train]\nlearning_rate = 3\n") == "did you mean \"optimizer.lr\"?");
  CHECK(suggestion("[data]\nnum_workers = 3\n") == "did you mean \"workers\"?");
  CHECK(suggestion("[data.val]\nuse = \"a\"\n") == "did you mean \"validation\"?");
  CHECK(suggestion("[data.training]\nuse = \"a\"\n") == "did you mean \"train\"?");
  CHECK(suggestion("[validation]\nuse = \"a\"\n") == "did you mean \"data.validation.use\"?");
  CHECK(suggestion("[train.data]\nuse = \"a\"\n") == "did you mean \"data.train\"?");
  CHECK(suggestion("[dataset]\nuse = \"a\"\n") == "did you mean \"data.train\"?");
  CHECK(suggestion("[scheduler]\nuse = \"a\"\n") == "did you mean \"schedule\"?");
  CHECK(suggestion("[run]\nextends = \"a.toml\"\n")
            .find("extends is not a key of run; write it before the first table of the file") != std::string::npos);
  CHECK(suggestion("[model]\ntype = \"a\"\n") == "did you mean \"use\"?");
  CHECK(suggestion("[model]\nclasses = 3\n") == "did you mean \"model.params.classes\", a parameter of the component?");
}

TEST_CASE("a value in another notation or of another trainer is suggested in that of the run file") {
  const auto suggestion = [](const std::string& line) {
    const std::string message = error_of(line + "\n");
    return message.substr(message.find("; expected") + 2, message.find('\n') - message.find("; expected") - 2);
  };
  CHECK(suggestion("data.batch_size = \"64\"") == "expected an integer in [1, 1e9]; write 64");
  CHECK(suggestion("data.batch_size = 64.0") == "expected an integer in [1, 1e9]; write 64");
  CHECK(suggestion("data.batch_size = \"0\"") == "expected an integer in [1, 1e9]");
  CHECK(suggestion("data.shuffle = \"yes\"") == "expected a boolean; write true");
  CHECK(suggestion("run.deterministic = \"True\"") == "expected true, false or \"warn\"; write true");
  CHECK(suggestion("run.name = 5") == "expected a string; write \"5\"");
  CHECK(suggestion("train.precision = \"float16\"").ends_with("; did you mean \"fp16\"?"));
  CHECK(suggestion("train.precision = 16").ends_with("; did you mean \"fp16\"?"));
  CHECK(suggestion("checkpoint.mode = \"maximum\"").ends_with("; did you mean \"max\"?"));
  CHECK(suggestion("run.device = \"gpu\"").ends_with("; did you mean \"cuda\"?"));
  CHECK(suggestion("run.device = \"cuda:1000000\"").ends_with("such as \"cuda:1\""));
  CHECK(suggestion("run.device = 1").ends_with("; did you mean \"cuda:1\"?"));
  CHECK(suggestion("data.train.subset = 0.5").ends_with("; did you mean \"50%\"?"));
  CHECK(suggestion("model = \"mlp\"") == "expected a table; write model = { use = \"mlp\" }");
  CHECK(suggestion("data.train = \"digits\"") == "expected a table; write train = { use = \"digits\" }");
  CHECK(suggestion("data.folds = 5") == "expected a table; write folds = { count = 5 }");
  CHECK(suggestion("data.class_names = [\"a\"]")
            .starts_with("expected a table; write class_names = { label = [\"a\"] }, with the name of the field"));
  CHECK(suggestion("checkpoint.every = 500").ends_with("; did you mean \"500 steps\"?"));
  CHECK(suggestion("checkpoint.every = \"epoch\"").ends_with("; did you mean \"1 epoch\"?"));
  CHECK(suggestion("checkpoint.every = \"10 min\"").ends_with("; did you mean \"10 minutes\"?"));
  CHECK(suggestion("checkpoint.every = \"sometimes\"").ends_with("or \"never\""));
  CHECK(error_of("[[metric]]\nuse = \"accuracy\"\non = \"train\"\n").ends_with("; write [\"train\"]"));
  CHECK(error_of("[[metric]]\nuse = \"accuracy\"\non = [\"val\"]\n").ends_with("; did you mean \"validation\"?"));
}

TEST_CASE("an empty file has errors for all required keys at its start") {
  const std::string message = error_of("");
  for (const char* expected : {"model.use is missing", "data.batch_size is missing", "data.train.use is missing",
                               "there is no loss", "train.epochs is missing", "optimizer.use is missing"}) {
    CAPTURE(expected);
    CHECK(message.find(std::string("digits.toml:1:1: ") + expected) != message.npos);
  }
}

TEST_CASE("a value over several lines is shown by its first line") {
  CHECK(error_of("[train]\nepochs = [1,\n  2]\n") ==
        "digits.toml:2:10: train.epochs is [1, ...; expected an integer in [1, 4294967295]");
}

}  // namespace tenon::config
