// Tests runs that resume after their data have changed: refused in the middle of an epoch, reported between epochs.
#include <doctest/doctest.h>

#include <functional>
#include <map>

#include "tests/datasets/written_tar.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

using namespace tenon::end_to_end;
using tenon::contains;
namespace fs = std::filesystem;

namespace {

constexpr const char* kRest = R"([[loss]]
use = "cross_entropy"
[train]
epochs = 4
[checkpoint]
every = "1 step"
keep = 99
[optimizer]
use = "sgd"
lr = 0.01
)";

// A run of 4 epochs with 3 steps each. Its data are in the folder `data`.
struct Run {
  Run(const std::string& name, const std::string& model, const std::string& dataset,
      const std::function<void(const fs::path&)>& write, const std::string& rest = kRest)
      : folder(make_empty_folder(name)) {
    fs::create_directory(folder / "data");
    write(folder / "data");
    config = write_file(folder / "run.toml", "[run]\noutput_dir = \"" + (folder / "runs").string() + "\"\n[model]\n" +
                                                 model + "\n[data]\nbatch_size = 8\n[data.train]\n" + dataset +
                                                 "\n[data.validation]\nlike = \"train\"\n" + rest)
                 .string();
    require_success(run_host({"--config", config}));
    checkpoints = find_run_folder(folder / "runs", "run") / "checkpoints";
  }

  Outcome resume(int step) const {
    const std::string number = std::to_string(step);
    const fs::path from = checkpoints / ("step-" + std::string(8 - number.size(), '0') + number);
    return run_host({"--config", config, "--resume", from.string(), "--check"});
  }

  void check_unchanged() const {
    for (const int step : {2, 3}) {
      const Outcome outcome = require_success(resume(step));
      CHECK_FALSE(contains(outcome.errors, "have changed since"));
    }
  }

  // Writes other labels into files of the same size.
  void check_swap(const std::function<void(const fs::path&)>& swap, const std::string& difference) const {
    CAPTURE(config);
    check_unchanged();
    const std::map<std::string, uintmax_t> before = list_sizes();
    swap(folder / "data");
    CHECK(list_sizes() == before);
    check_changed(difference);
  }

  // `difference`: a part of the message.
  void check_changed(const std::string& difference) const {
    const Outcome within = resume(2), between = resume(3);
    CAPTURE(difference);
    CAPTURE(within.errors);
    CAPTURE(between.errors);
    CHECK(within.exit_code == 5);
    CHECK(contains(within.errors, "step-00000002: the data of train have changed since it was written:"));
    CHECK(contains(within.errors, "expected the same data in the middle of epoch 1"));
    CHECK(between.exit_code == 0);
    CHECK(contains(between.errors, "warning: the run resumes with data that have changed since"));
    for (const Outcome& outcome : {within, between}) CHECK(contains(outcome.errors, difference));
  }

  std::map<std::string, uintmax_t> list_sizes() const {
    std::map<std::string, uintmax_t> sizes;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder / "data"))
      if (entry.is_regular_file()) sizes[entry.path().string()] = entry.file_size();
    return sizes;
  }

  fs::path folder, checkpoints;
  std::string config;
};

std::string rows(int count, const std::string& odd = "b") {
  std::string text = "x,label\n";
  for (int i = 0; i < count; ++i) text += std::to_string(i) + ',' + (i % 2 == 0 ? "a" : odd) + '\n';
  return text;
}

void write_image(const fs::path& path, int width = 8) {
  write_file(path, "P5\n" + std::to_string(width) + " 8\n255\n" + std::string(static_cast<size_t>(8 * width), 'a'));
}

}  // namespace

TEST_CASE("a table that has changed is refused in the middle of an epoch and reported between epochs") {
  const Run run("table", "use = \"mlp\"\nparams = { hidden = [4] }",
                "use = \"table\"\nparams = { path = \"data/t.csv\", target = \"label\", task = \"classification\" }",
                [](const fs::path& data) { write_file(data / "t.csv", rows(24)); });
  const fs::path file = run.folder / "data/t.csv";
  run.check_unchanged();
  write_file(file, rows(26));
  run.check_changed("samples: 24, now 26");
  // The labels alone, in a file of the same size.
  std::string text = rows(24);
  text[text.find("0,a") + 2] = 'b';
  write_file(file, text);
  run.check_changed("fingerprint: ");
  write_file(file, rows(24));
  run.check_unchanged();
}

TEST_CASE("a folder of images that has changed is refused in the middle of an epoch and reported between epochs") {
  const Run run(
      "images", "use = \"small_cnn\"",
      "use = \"image_folder\"\nparams = { path = \"data\", transforms = [\"resize((8, 8))\", \"normalize()\"] }",
      [](const fs::path& data) {
        for (int i = 0; i < 24; ++i) write_image(data / (i % 2 == 0 ? "cat" : "dog") / (std::to_string(i) + ".pgm"));
      });
  const fs::path data = run.folder / "data";
  run.check_unchanged();
  write_image(data / "dog/99.pgm");
  run.check_changed("samples: 24, now 25");
  fs::rename(data / "dog/99.pgm", data / "dog/1.pgm");
  run.check_unchanged();
  fs::rename(data / "dog/1.pgm", data / "dog/99.pgm");
  run.check_changed("names: 24 names, ");
  fs::rename(data / "dog/99.pgm", data / "dog/1.pgm");
  write_image(data / "dog/1.pgm", 9);
  run.check_changed(", now 24 files, 1808 bytes, ");
  // The folder may move, and other files are no data.
  write_image(data / "dog/1.pgm");
  write_file(data / "notes.txt", "new");
  run.check_unchanged();
  fs::rename(data, run.folder / "moved");
  const Outcome moved =
      run_host({"--config", run.config, "--resume", (run.checkpoints / "step-00000003").string(), "--check", "--set",
                "data.train.params.path=\"" + (run.folder / "moved").string() + '"'});
  CAPTURE(moved.errors);
  CHECK_FALSE(contains(moved.errors, "have changed since"));
}

namespace {

std::vector<int64_t> make_labels(bool are_swapped) {
  std::vector<int64_t> labels;
  for (int i = 0; i < 24; ++i) labels.push_back((i + are_swapped) % 2);
  return labels;
}

template <class Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

void write_npy(const fs::path& path, const std::string& descr, const std::string& shape, const std::string& elements) {
  const TarBytes bytes = make_npy(descr, shape, {elements.begin(), elements.end()});
  write_file(path, std::string(bytes.begin(), bytes.end()));
}

void write_npy_files(const fs::path& data, bool are_swapped) {
  const std::vector<int64_t> labels = make_labels(are_swapped);
  write_npy(data / "y.npy", "<i8", "(24,)", bytes_of(labels));
  write_npy(data / "x.npy", "<f4", "(24, 1)", bytes_of(std::vector<float>(24, 0.5f)));
}

void write_safetensors(const fs::path& data, bool are_swapped) {
  std::string header = R"({"x":{"dtype":"F32","shape":[24,1],"data_offsets":[0,96]},)"
                       R"("y":{"dtype":"I64","shape":[24],"data_offsets":[96,288]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  write_file(data / "a.safetensors", bytes_of<uint64_t>({header.size()}) + header +
                                         bytes_of(std::vector<float>(24, 0.5f)) + bytes_of(make_labels(are_swapped)));
}

void write_list(const fs::path& data, bool are_swapped) {
  std::string text = "path,label\n";
  for (int i = 0; i < 24; ++i) {
    write_image(data / (std::to_string(i) + ".pgm"));
    text += std::to_string(i) + ".pgm," + ((i + are_swapped) % 2 == 0 ? "cat" : "dog") + '\n';
  }
  write_file(data / "list.csv", text);
}

void write_shard(const fs::path& data, bool are_swapped) {
  WrittenTar shard;
  const std::vector<int64_t> labels = make_labels(are_swapped);
  for (size_t i = 0; i < labels.size(); ++i) {
    const std::string name = std::to_string(10 + i);
    shard.add(name + ".pgm", "P5\n8 8\n255\n" + std::string(64, 'a')).add(name + ".cls", std::to_string(labels[i]));
  }
  const TarBytes bytes = shard.bytes();
  write_file(data / "a.tar", std::string(bytes.begin(), bytes.end()));
}

}  // namespace

TEST_CASE("labels that were swapped in files of the same size are refused in the middle of an epoch") {
  const std::string mlp = "use = \"mlp\"\nparams = { hidden = [4], classes = 2 }\ninputs = { image = \"data.x\" }";
  const std::string cnn = "use = \"small_cnn\"\nparams = { classes = 2 }";
  const std::string small = "transforms = [\"resize((8, 8))\", \"normalize()\"] }";
  std::string connected = kRest;
  connected.insert(connected.find("[train]"), "inputs = { target = \"data.y\" }\n");
  using Write = void (*)(const fs::path&, bool);
  const auto check = [](const std::string& name, const std::string& model, const std::string& dataset, Write write,
                        const std::string& difference, const std::string& rest) {
    const Run run(
        name, model, dataset, [write](const fs::path& data) { write(data, false); }, rest);
    run.check_swap([write](const fs::path& data) { write(data, true); }, difference);
  };
  check("npy", mlp, "use = \"arrays\"\nparams = { path = \"data\" }", write_npy_files, "fingerprint: ", connected);
  check("safetensors", mlp, "use = \"arrays\"\nparams = { path = \"data/a.safetensors\" }", write_safetensors,
        "fingerprint: ", connected);
  check("list", cnn, "use = \"image_csv\"\nparams = { path = \"data/list.csv\", " + small, write_list,
        "contents: 1 file, ", kRest);
  check("shard", cnn, "use = \"tar_shards\"\nparams = { path = \"data\", " + small, write_shard,
        "fingerprint: ", kRest);
}
