// Tests the documentation: its commands run, and its samples of run files are valid.
#include <toml++/toml.h>

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include "framework/artifacts/files/encode.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/end_to_end/judge_run_file.h"

namespace fs = std::filesystem;
using namespace tenon::end_to_end;
using nlohmann::json;

namespace {

struct Block {
  std::string place;  // "docs/guides/data.md:7"
  std::string language;
  std::string text;
  bool is_file;  // a file of an example in the repository, which other tests build and run
};

std::vector<fs::path> list_documents() {
  std::vector<fs::path> files{fs::path(TENON_SOURCE_DIR) / "README.md"};
  for (const char* folder : {"docs", "docs/coming_from", "docs/guides", "docs/reference"})
    for (const auto& entry : fs::directory_iterator(fs::path(TENON_SOURCE_DIR) / folder))
      if (entry.path().extension() == ".md") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

std::vector<Block> read_blocks(const fs::path& file) {
  std::vector<Block> blocks;
  std::istringstream text(read_file(file));
  std::string line, before;
  bool is_inside = false;
  for (int number = 1; std::getline(text, line); ++number) {
    if (line.starts_with("```")) {
      is_inside = !is_inside;
      const std::string place = fs::relative(file, TENON_SOURCE_DIR).string() + ":" + std::to_string(number);
      if (is_inside) blocks.push_back({place, line.substr(3), "", before.starts_with("<!-- file:")});
    } else if (is_inside) {
      blocks.back().text += line + "\n";
    }
    before = line;
  }
  return blocks;
}

std::vector<Block> read_all_blocks(const std::set<std::string>& languages) {
  std::vector<Block> found;
  for (const fs::path& file : list_documents())
    for (Block& block : read_blocks(file))
      if (languages.contains(block.language)) found.push_back(std::move(block));
  return found;
}

// Removes `required` from the schema, because samples are incomplete. Conditions are kept: they do not require keys.
json drop_required(json schema) {
  if (schema.is_object()) schema.erase("required");
  for (auto& [key, value] : schema.items())
    if (key != "if" && value.is_structured()) value = drop_required(value);
  return schema;
}

// Returns the lines of a block that start the host. Continued lines are joined.
std::vector<std::string> list_commands(const std::string& text) {
  std::vector<std::string> commands;
  std::istringstream lines(text);
  std::string joined;
  for (std::string line; std::getline(lines, line);) {
    joined += line.starts_with("$ ") ? line.substr(2) : line;
    if (joined.ends_with('\\')) {
      joined.pop_back();
      continue;
    }
    const bool is_usage = joined.find(" [--") != joined.npos;
    if (joined.starts_with("host ") && !is_usage) commands.push_back(joined);
    joined.clear();
  }
  return commands;
}

// A folder with all files that the pages mention: run files, two runs, two checkpoints.
class Workplace {
 public:
  static constexpr int kNewRows = 20;  // in data/new.csv

  Workplace() : folder_(make_empty_folder("documented")) {
    fs::copy(fs::path(TENON_SOURCE_DIR) / "configs", folder_ / "configs", fs::copy_options::recursive);
    write_texts();
    write_photos();
    write_masks();
    write_tables();
    const std::string run_file =
        std::regex_replace(read_file(fs::path(TENON_SOURCE_DIR) / "configs" / "digits_mlp.toml"),
                           std::regex("epochs = [0-9]+"), "epochs = 1");
    for (const char* name : {"run.toml", "a.toml", "b.toml"}) write_file(folder_ / name, run_file);
    fs::create_directories(folder_ / ".config" / "fish" / "completions");
    fs::create_directory(folder_ / "functions_of_zsh");
    fs::create_directory(folder_ / "build");
    fs::create_directory_symlink(TENON_BINARY_DIR, folder_ / "build" / "release");
    for (const std::string run : {"gpt", "text_pairs", "image_folder", "segmentation", "regression"})
      REQUIRE_MESSAGE(execute("host --config configs/" + run + ".toml --set train.epochs=1") == 0, printed());
    for (const std::string run : {"digits", "digits_mlp"}) {
      REQUIRE(execute("host --config configs/" + run + ".toml --set train.epochs=2") == 0);
      const fs::path runs = folder_ / "runs" / run;
      fs::rename(fs::directory_iterator(runs)->path(), runs / "2026-11-21T11-30-05");
    }
    std::vector<fs::path> checkpoints;
    for (const auto& entry : fs::directory_iterator(folder_ / "runs/digits_mlp/2026-11-21T11-30-05/checkpoints"))
      if (!entry.is_symlink()) checkpoints.push_back(entry.path());
    std::ranges::sort(checkpoints);
    REQUIRE(checkpoints.size() >= 2);
    fs::create_directory_symlink(checkpoints[0], folder_ / "A");
    fs::create_directory_symlink(checkpoints[1], folder_ / "B");
  }

  // Returns the exit code. `printed()` has the output.
  int execute(const std::string& command) const {
    const std::string script = "cd '" + folder_.string() +
                               "' && export HOME=\"$PWD\" PATH='" TENON_BINARY_DIR
                               "/tests/bin/served':\"$PATH\" && fpath=(. functions_of_zsh) && { " +
                               command + "\n} > printed 2>&1";
    write_file(folder_ / "command.sh", script);
    const int status = std::system(("bash '" + (folder_ / "command.sh").string() + "'").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  std::string printed() const { return read_file(folder_ / "printed"); }

 private:
  // Few and short texts in place of those of configs/gpt.toml and configs/text_pairs.toml.
  void write_texts() const {
    fs::create_directories(folder_ / "data" / "jargon");
    fs::create_directories(folder_ / "data" / "dates");
    std::string text, pairs = "source\ttarget\n";
    for (int day = 1; day <= 28; ++day)
      for (const std::string month : {"March", "July", "November"}) {
        const std::string source = std::to_string(day) + " " + month + " 1999";
        text += "To be written on " + source + ".\n";
        pairs += source + "\t1999-" + std::to_string(day) + "\n";
      }
    write_file(folder_ / "data" / "jargon" / "jargon.txt", text);
    write_file(folder_ / "data" / "dates" / "dates.tsv", pairs);
  }

  // Pictures with masks for configs/segmentation.toml.
  void write_masks() const {
    const fs::path shapes = folder_ / "data" / "shapes";
    fs::create_directories(shapes / "images");
    fs::create_directories(shapes / "masks");
    constexpr int kSide = 16;
    for (int i = 0; i < 40; ++i) {
      std::string picture = "P6 16 16 255\n";
      std::vector<std::byte> classes, png;
      for (int pixel = 0; pixel < kSide * kSide; ++pixel) {
        const int kind = (pixel / kSide + i) / 8 % 4;
        picture += std::string(3, static_cast<char>(30 * kind));
        classes.push_back(static_cast<std::byte>(kind));
      }
      tenon::artifacts::encode_png(classes, kSide, kSide, 1, png);
      write_file(shapes / "images" / (std::to_string(i) + ".ppm"), picture);
      write_file(shapes / "masks" / (std::to_string(i) + ".png"),
                 std::string(reinterpret_cast<const char*>(png.data()), png.size()));
    }
  }

  // Rows for configs/regression.toml, and rows to predict.
  void write_tables() const {
    fs::create_directories(folder_ / "data" / "cars");
    std::string cars = "mpg,weight,origin,car_name\n", rows = "origin,weight\n";
    for (int i = 0; i < 60; ++i) {
      const std::string weight = std::to_string(2000 + 40 * i), origin = std::to_string(1 + i % 3);
      cars += std::to_string(40 - i / 3) + "," + weight + "," + origin + ",car " + std::to_string(i) + "\n";
      if (i < kNewRows) rows += origin + "," + weight + "\n";
    }
    write_file(folder_ / "data" / "cars" / "cars.csv", cars);
    write_file(folder_ / "data" / "new.csv", rows);
  }

  // Photos of one colour per class for configs/image_folder.toml, and some without a class.
  void write_photos() const {
    const fs::path labelled = folder_ / "configs" / "photos", unlabelled = folder_ / "photos";
    fs::create_directory(unlabelled);
    fs::create_directories(labelled);
    for (const char* name : {"animals", "numbers"}) fs::create_directory_symlink(labelled, folder_ / name);
    for (const std::string kind : {"blue", "green", "red"}) {
      fs::create_directories(labelled / kind);
      const std::string pixel = kind == "blue"    ? std::string{0, 0, 99}
                                : kind == "green" ? std::string{0, 99, 0}
                                                  : std::string{99, 0, 0};
      std::string photo = "P6 8 8 255\n";
      for (int i = 0; i < 64; ++i) photo += pixel;
      for (int i = 0; i < 20; ++i) write_file(labelled / kind / (std::to_string(i) + ".ppm"), photo);
      write_file(unlabelled / (kind + ".ppm"), photo);
    }
  }

  fs::path folder_;
};

int expected_code(const std::string& command) {
  return command.starts_with("host checkpoint diff A B") ? 9 : 0;  // these checkpoints differ
}

}  // namespace

TEST_CASE("every command of the documentation succeeds") {
  const Workplace workplace;
  size_t executed = 0;
  for (const Block& block : read_all_blocks({"sh", "console"})) {
    // tests/exported/check_timm_guide.py follows this page, which needs Python.
    if (block.place.starts_with("docs/guides/train_a_timm_model.md")) continue;
    for (const std::string& command : list_commands(block.text)) {
      INFO(block.place << ": " << command);
      const int code = workplace.execute(command);
      CAPTURE(workplace.printed());
      CHECK(code == expected_code(command));
      if (command.find("/new.csv") != command.npos)
        CHECK(workplace.printed().find(": " + std::to_string(Workplace::kNewRows) + " samples in ") !=
              std::string::npos);
      ++executed;
    }
  }
  CHECK(executed >= 25);
}

TEST_CASE("every sample of a run file is valid, apart from missing keys") {
  RunFileChecker check(drop_required(read_schema_of_host()));
  REQUIRE(check.check(read_toml("[train]\nepoks = 3")) != "");
  REQUIRE(check.check(read_toml("[[callback]]\nuse = \"early_stopping\"\nparams = { patienc = 3 }")) != "");
  size_t looked_at = 0;
  for (const Block& block : read_all_blocks({"toml"})) {
    if (block.is_file) continue;
    CAPTURE(block.place);
    CHECK(check.check(read_toml(block.text)) == "");
    ++looked_at;
  }
  CHECK(looked_at >= 15);
}
