// Tests that host predict writes tokens as text, with a language model and a sequence-to-sequence model.
#include <doctest/doctest.h>

#include <algorithm>

#include "framework/support/text/printable.h"
#include "plugins/text/tokenizer.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/evaluation/read_values.h"
#include "tests/test_folder.h"

using namespace tenon::end_to_end;
using tenon::artifacts::SafetensorsFile;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;
using Rows = std::vector<Words>;

namespace {

constexpr const char* kBytes = R"([run]
threads = 1
[model]
use = "gpt"
params = { vocabulary_size = 256, context = 16, layers = 1, heads = 2, width = 16 }
[data.train]
use = "text_windows"
params = { path = "text.txt", context = 16 }
[data.validation]
use = "text_windows"
params = { path = "text.txt", context = 16 }
[data]
batch_size = 16
[[loss]]
use = "sequence_cross_entropy"
[train]
steps = 40
[optimizer]
use = "adamw"
lr = 1e-2
)";

constexpr const char* kPairs = R"([run]
threads = 1
[model]
use = "seq2seq_transformer"
params = { vocabulary_size = 60, width = 16, heads = 2, feed_forward = 32, encoder_layers = 1, decoder_layers = 1, generate = 6 }
[data.train]
use = "text_pairs"
params = { path = "pairs.tsv", vocabulary_size = 60, model_type = "char", character_coverage = 1.0 }
[data.validation]
use = "text_pairs"
params = { path = "pairs.tsv", vocabulary_size = 60, model_type = "char", character_coverage = 1.0 }
[data]
batch_size = 7
[[loss]]
use = "sequence_cross_entropy"
[train]
steps = 20
[optimizer]
use = "adamw"
lr = 1e-2
)";

// Cells of a file as in RFC 4180.
Rows read_cells(const fs::path& path) {
  Rows rows(1);
  rows.back().emplace_back();
  bool is_quoted = false;
  const std::string text = read_file(path);
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_pair = is_quoted && text[i] == '"' && i + 1 < text.size() && text[i + 1] == '"';
    if (text[i] == '"' && !is_pair) {
      is_quoted = !is_quoted;
    } else if (text[i] == ',' && !is_quoted) {
      rows.back().emplace_back();
    } else if (text[i] == '\n' && !is_quoted) {
      rows.push_back({""});
    } else {
      rows.back().back() += text[i];
      i += is_pair ? 1 : 0;
    }
  }
  rows.pop_back();
  return rows;
}

std::vector<std::pair<std::string, std::string>> make_pairs() {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (int i = 0; i < 40; ++i) {
    const std::string number = std::to_string(i * i * 37);
    pairs.emplace_back("the \"number\", \xE2\x82\xAC " + number, number + ", done");
  }
  return pairs;
}

// A run file with its data, trained.
class Trained {
 public:
  Trained(const std::string& name, const char* config) : folder_(make_empty_folder(name)) {
    std::string text;
    for (int i = 0; i < 40; ++i) text += "to be, or \"not\" to be \xE2\x80\x94 that\n";
    write_file(folder_ / "text.txt", text);
    std::string pairs = "source\ttarget\n";
    for (const auto& [source, target] : make_pairs()) pairs += source + "\t" + target + "\n";
    write_file(folder_ / "pairs.tsv", pairs);
    write_file(folder_ / "run.toml", config);
    require_success(run_host(config_and({})));
  }

  Outcome run(const std::string& output, const Words& more) const {
    return run_host(joined(
        joined({"predict"}, config_and({"--data", "validation", "--output", (folder_ / output).string()})), more));
  }

  fs::path predict(const std::string& output, const Words& more) const {
    require_success(run(output, more));
    return folder_ / output;
  }

  void check_refused(const std::string& output, const Words& more, int exit_code, const std::string& message) const {
    check_errors(run(output, more), exit_code, {message});
    CHECK_FALSE(fs::exists(folder_ / output));
  }

 private:
  Words config_and(const Words& more) const {
    return joined({"--config", (folder_ / "run.toml").string(), "--set",
                   "run.output_dir=\"" + (folder_ / "runs").string() + "\""},
                  more);
  }

  fs::path folder_;
};

const Trained& language_model() {
  static const Trained trained("bytes", kBytes);
  return trained;
}

const Trained& translation() {
  static const Trained trained("pairs", kPairs);
  return trained;
}

// A cell with this text: bytes that are not UTF-8 are replaced, and control characters escaped.
std::string cell_of(const std::string& bytes) {
  return tenon::support::escape_control_characters(tenon::support::replace_invalid_utf8(bytes));
}

}  // namespace

TEST_CASE("the text of logits is that of their largest elements, and windows of bytes are UTF-8") {
  const Rows rows =
      read_cells(language_model().predict("text.csv", {"--apply", "logits=text", "--fields", "tokens,target"}));
  CHECK(rows.front() == Words{"index", "logits.text", "tokens.text", "target.text"});
  const SafetensorsFile tensors(language_model().predict("text.safetensors", {"--fields", "tokens,target"}));
  const auto logits = read_values<float>(tensors, "logits");
  const auto tokens = read_values<int64_t>(tensors, "tokens");
  const auto targets = read_values<int64_t>(tensors, "target");
  REQUIRE(rows.size() == 1 + tokens.size() / 16);
  REQUIRE(logits.size() == tokens.size() * 256);
  bool has_replacement = false;
  for (size_t row = 0; row + 1 < rows.size(); ++row) {
    std::string predicted, read, next;
    for (size_t t = row * 16; t < (row + 1) * 16; ++t) {
      const auto first = logits.begin() + static_cast<std::ptrdiff_t>(t * 256);
      predicted += static_cast<char>(std::max_element(first, first + 256) - first);
      read += static_cast<char>(tokens[t]);
      if (targets[t] >= 0) next += static_cast<char>(targets[t]);
    }
    CHECK(rows[row + 1] == Words{std::to_string(row), cell_of(predicted), cell_of(read), cell_of(next)});
    has_replacement = has_replacement || rows[row + 1][2].find("\xEF\xBF\xBD") != std::string::npos;
  }
  CHECK(has_replacement);
}

TEST_CASE("texts of any length are the ones that the table has, and generated tokens are decoded") {
  const Rows rows = read_cells(translation().predict(
      "pairs.csv", {"--outputs", "generated", "--apply", "text", "--fields", "source,target,target_in"}));
  CHECK(rows.front() == Words{"index", "generated.text", "source.text", "target.text", "target_in.text"});
  const auto generated = read_values<int64_t>(
      SafetensorsFile(translation().predict("pairs.safetensors", {"--outputs", "generated"})), "generated");
  const auto pairs = make_pairs();
  REQUIRE(rows.size() == 1 + pairs.size());
  REQUIRE(generated.size() == pairs.size() * 6);
  Words texts;
  for (const auto& [source, target] : pairs) texts.insert(texts.end(), {source, target});
  const auto model = text::train_tokenizer(texts, {60, "char", 1.0}, "pairs");
  const text::Tokenizer tokenizer(*model, "the model");
  bool has_text = false;
  for (size_t row = 0; row < pairs.size(); ++row) {
    std::vector<int64_t> tokens;
    for (size_t t = row * 6; t < (row + 1) * 6; ++t)
      if (generated[t] > 0 && generated[t] != 2 && generated[t] != 3) tokens.push_back(generated[t]);
    CHECK(rows[row + 1] ==
          Words{std::to_string(row), tokenizer.decode(tokens), pairs[row].first, pairs[row].second, pairs[row].second});
    has_text = has_text || !rows[row + 1][1].empty();
  }
  CHECK(has_text);
}

TEST_CASE("a text without a tokenizer of its size, or in a file of tensors, is refused") {
  translation().check_refused("refused.safetensors", {"--outputs", "generated", "--apply", "text"}, 2,
                              "--apply text: a .safetensors file holds no text");
  language_model().check_refused("refused.csv", {"--tta", "flip"}, 2,
                                 "reads no images; expected a model with a floating-point input [N, C, H, W]");
  // A tokenizer with more pieces than the weights have.
  language_model().check_refused(
      "refused.csv",
      {"--apply", "text", "--set", "data.validation.use=\"text_pairs\"", "--set",
       "data.validation.params={path = \"pairs.tsv\", vocabulary_size = 400, model_type = \"bpe\"}", "--set",
       "model.inputs={tokens = \"data.source\"}"},
      2, "use the tokenizer with which the weights were trained");
}
