// Tests host generate with a language model and a sequence-to-sequence model, each trained once for all cases.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "host/generate/open_generation.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/evaluation/read_values.h"
#include "tests/test_folder.h"

using namespace tenon::end_to_end;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

namespace {

std::string repeat(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

std::string number_of(int pair) { return std::to_string(100 + pair * 37 % 900); }

std::string write_pairs() {
  std::string pairs = "source\ttarget\n";
  for (int i = 0; i < 200; ++i) pairs += "number " + number_of(i) + "\t" + number_of(i) + "\n";
  return pairs;
}

constexpr const char* kLanguageModel = R"([run]
threads = 1
[model]
use = "gpt"
params = { vocabulary_size = 40, context = 16, layers = 2, heads = 2, width = 16 }
[data.train]
use = "text_windows"
params = { path = "text.txt", tokens = "characters", context = 16 }
[data]
batch_size = 16
[[loss]]
use = "sequence_cross_entropy"
[train]
steps = 60
[optimizer]
use = "adamw"
lr = 1e-2
)";

constexpr const char* kTranslation = R"([run]
threads = 1
[model]
use = "seq2seq_transformer"
params = { vocabulary_size = 60, width = 16, heads = 2, feed_forward = 32, encoder_layers = 1, decoder_layers = 2, generate = 6 }
[data.train]
use = "text_pairs"
params = { path = "pairs.tsv", vocabulary_size = 40 }
[data]
batch_size = 16
[[loss]]
use = "sequence_cross_entropy"
[train]
steps = 100
[optimizer]
use = "adamw"
lr = 1e-2
)";

// A run file with its data, trained.
class Trained {
 public:
  Trained(const std::string& name, const char* config) : folder_(make_empty_folder(name)) {
    write_file(folder_ / "text.txt", repeat("to be or not to be — that is the question\n", 60));
    write_file(folder_ / "pairs.tsv", write_pairs());
    write_file(folder_ / "run.toml", config);
    require_success(run_host(config_and({})));
  }

  const fs::path& folder() const { return folder_; }

  Words config_and(const Words& more) const {
    return joined({"--config", (folder_ / "run.toml").string(), "--set",
                   "run.output_dir=\"" + (folder_ / "runs").string() + "\""},
                  more);
  }

  Outcome run(const Words& options, const std::string& prefix = "") const {
    return run_host(joined({"generate"}, config_and(options)), prefix);
  }

  std::string generate(const Words& options, const std::string& prefix = "") const {
    return require_success(run(options, prefix)).output;
  }

  // The texts of a prompt as JSON.
  nlohmann::json texts(Words options, size_t prompt = 0) const {
    options.push_back("--json");
    return nlohmann::json::parse(generate(options)).at("prompts").at(prompt).at("texts");
  }

 private:
  fs::path folder_;
};

const Trained& language_model() {
  static const Trained trained("language_model", kLanguageModel);
  return trained;
}

const Trained& translation() {
  static const Trained trained("translation", kTranslation);
  return trained;
}

void check_refused(const Trained& trained, const Words& options, int exit_code, const std::string& message) {
  const Outcome outcome = trained.run(options);
  check_errors(outcome, exit_code, {message});
  CHECK(outcome.output.empty());
}

const Words kSample = {"--prompt", "to be", "--max-new-tokens", "40", "--temperature", "2"};

Words operator+(const Words& words, const Words& more) { return joined(words, more); }

}  // namespace

TEST_CASE("a text begins with the prompt and may be longer than the context") {
  const Words options = {"--prompt", "to be", "--max-new-tokens", "30"};
  const std::string text = language_model().generate(options);
  CHECK(text.starts_with("to be"));
  const auto texts = language_model().texts(options);
  REQUIRE(texts.size() == 1);
  CHECK(texts[0]["text"].get<std::string>() + "\n" == text);
  CHECK(texts[0]["tokens"].size() == 30);
  CHECK(texts[0]["end"] == "length");
  CHECK(texts[0]["score"] == texts[0]["log_probability"]);
}

// Log probabilities differ by rounding with the number of samples.
TEST_CASE("samples depend on the seed alone") {
  const auto sample = [](const Words& more) {
    std::vector<nlohmann::json> tokens;
    for (const auto& text : language_model().texts(kSample + more)) tokens.push_back(text["tokens"]);
    return tokens;
  };
  const auto two = sample({"--seed", "5", "--samples", "2"}), three = sample({"--seed", "5", "--samples", "3"});
  REQUIRE(two.size() == 2);
  CHECK(two[0] == three[0]);
  CHECK(two[1] == three[1]);
  CHECK(two[0] != two[1]);
  CHECK(sample({"--seed", "6"})[0] != two[0]);
  // The seed of the run file is the default.
  CHECK(sample({"--set", "run.seed=5"})[0] == two[0]);
}

TEST_CASE("prompts come from a file or standard input, a line each, and texts have headings") {
  const fs::path file = write_file(language_model().folder() / "prompts.txt", "to be\nquestion\r\n");
  const Words options = {"--max-new-tokens", "8"};
  const std::string texts = language_model().generate(options + Words{"--prompt-file", file.string()});
  const std::string first = language_model().generate(options + Words{"--prompt", "to be"});
  const std::string second = language_model().generate(options + Words{"--prompt", "question"});
  CHECK(texts == "[1]\n" + first + "[2]\n" + second);
  const std::string script = "sh -c 'cat " + file.string() + " | \"$@\"' sh";
  CHECK(language_model().generate(options + Words{"--prompt-file", "-"}, script) == texts);
}

TEST_CASE("beam search returns the best of its beams") {
  const Words options = {"--prompt", "to", "--max-new-tokens", "10", "--beam", "4"};
  const auto best = language_model().texts(options), three = language_model().texts(options + Words{"--samples", "3"});
  CHECK(best.size() == 1);
  REQUIRE(three.size() == 3);
  CHECK(three[0] == best[0]);
  CHECK(three[0]["score"].get<double>() >= three[1]["score"].get<double>());
  const auto penalised = language_model().texts(options + Words{"--length-penalty", "0"});
  CHECK(penalised[0]["score"] == penalised[0]["log_probability"]);
  CHECK(language_model().generate(options + Words{"--samples", "2"}).starts_with("[1.1]\nto"));
}

TEST_CASE("a sequence-to-sequence model writes the tokens of its output generated, without the source") {
  const fs::path file = tenon::test_folder() / "predicted.safetensors";
  require_success(run_host(joined({"predict"}, translation().config_and({"--data", "train", "--outputs", "generated",
                                                                         "--output", file.string()}))));
  const tenon::artifacts::SafetensorsFile predicted(file);
  const auto indices = read_values<int64_t>(predicted, "index"),
             generated = read_values<int64_t>(predicted, "generated");
  std::string prompts;
  for (int i = 0; i < 20; ++i) prompts += "number " + number_of(i) + "\n";
  const fs::path prompt_file = write_file(translation().folder() / "prompts.txt", prompts);
  const Outcome texts =
      require_success(translation().run({"--prompt-file", prompt_file.string(), "--max-new-tokens", "6", "--json"}));
  const auto all = nlohmann::json::parse(texts.output)["prompts"];
  std::set<std::vector<int64_t>> different;
  for (size_t row = 0; row < indices.size(); ++row) {
    if (indices[row] >= 20) continue;
    std::vector<int64_t> expected;
    for (size_t i = 6 * row; i < 6 * row + 6 && generated[i] != 3; ++i) expected.push_back(generated[i]);  // 3: EOS
    const auto& text = all[static_cast<size_t>(indices[row])]["texts"][0];
    CAPTURE(indices[row]);
    CHECK(text["tokens"].get<std::vector<int64_t>>() == expected);
    CHECK(text["end"].get<std::string>() == (expected.size() < 6 ? "end_token" : "length"));
    CHECK(text["text"].get<std::string>().find("number") == std::string::npos);
    different.insert(expected);
  }
  CHECK(different.size() > 1);
}

TEST_CASE("SIGINT ends generation with the text so far") {
  const Words options = {"--prompt", "to be", "--max-new-tokens", "1000000000"};
  const Outcome outcome =
      language_model().run(options, "bash " TENON_SOURCE_DIR "/tests/evaluation/interrupt_after_output.sh");
  CHECK(outcome.exit_code == 130);
  CHECK(outcome.output.starts_with("to be"));
  CHECK(outcome.output.size() >= 9);
  CHECK(outcome.output.ends_with("\n"));
}

TEST_CASE("options that contradict each other or have no effect are refused") {
  const Words prompt = {"--prompt", "to"};
  const auto refuse = [&](const Words& options, const std::string& message) {
    check_refused(language_model(), options, 2, message);
  };
  refuse({}, "there is no prompt; expected --prompt TEXT or --prompt-file FILE");
  refuse(prompt + Words{"--prompt-file", "-"}, "--prompt and --prompt-file are both given");
  refuse(prompt + Words{"--beam", "2", "--temperature", "1"}, "--beam and --temperature are both given");
  refuse(prompt + Words{"--beam", "2", "--seed", "1"}, "--beam and --seed are both given");
  refuse(prompt + Words{"--seed", "1"}, "--seed is given for greedy decoding, which draws no random numbers");
  refuse(prompt + Words{"--samples", "2"}, "--samples is 2, and greedy decoding makes one text");
  refuse(prompt + Words{"--samples", "3", "--beam", "2"}, "--samples is 3 with --beam 2; expected at most as many");
  refuse(prompt + Words{"--length-penalty", "1"}, "--length-penalty is given without --beam");
  refuse(prompt + Words{"--temperature", "0"}, "--temperature is 0; expected a number above 0");
  refuse(prompt + Words{"--top-p", "1.5"}, "--top-p is 1.5; expected a number in (0, 1]");
  refuse(prompt + Words{"--top-k", "0"}, "--top-k is 0; expected at least 1");
  refuse(prompt + Words{"--max-new-tokens", "0"}, "--max-new-tokens is 0; expected at least 1");
}

TEST_CASE("prompts that the model cannot read are refused with their place") {
  const fs::path folder = language_model().folder();
  check_refused(language_model(), {"--prompt", ""}, 2, "command line: --prompt: the prompt has no tokens");
  check_refused(language_model(), {"--prompt", "to be or not to be"}, 2,
                "the prompt has 18 tokens; expected at most 16, the context of the model; shorten the prompt");
  check_refused(language_model(), {"--prompt", "Zebra"}, 4, "the character \"Z\" is not one of the");
  const std::string file = write_file(folder / "wrong.txt", "to\n\nbe\n").string();
  check_refused(language_model(), {"--prompt-file", file}, 2, "wrong.txt:2: the prompt has no tokens");
  check_refused(language_model(), {"--prompt-file", write_file(folder / "empty.txt", "").string()}, 4,
                "empty.txt: is empty; expected a prompt in each line");
  check_refused(language_model(), {"--prompt-file", (folder / "missing.txt").string()}, 2, "missing.txt");
  check_refused(language_model(), {"--prompt", "to", "--data", "other"}, 2, "--data is \"other\"");
  const std::string letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  write_file(folder / "other.txt", letters);
  check_refused(language_model(),
                {"--prompt", "zz", "--set", "data.train.params.path=\"" + (folder / "other.txt").string() + "\""}, 4,
                "characters of the training text; leave them out");
  write_file(folder / "other.tsv", "source\ttarget\n" + letters + "\t" + letters + "\n");
  check_refused(language_model(),
                {"--prompt", letters, "--set",
                 "data.train={use=\"text_pairs\",params={path=\"" + (folder / "other.tsv").string() +
                     "\",model_type=\"char\",vocabulary_size=100}}",
                 "--set", "model.inputs={tokens=\"data.source\"}"},
                4, "\"; expected tokens below 40, the model's vocabulary");
}

TEST_CASE("a run without a tokenizer or without tokens cannot generate") {
  const fs::path folder = make_empty_folder("images");
  require_success(run_host({"--config", TENON_SOURCE_DIR "/configs/digits_mlp.toml", "--set", "train={steps=2}",
                            "--set", "run.output_dir=\"" + folder.string() + "\""}));
  check_errors(run_host({"generate", "--config", TENON_SOURCE_DIR "/configs/digits_mlp.toml", "--set",
                         "run.output_dir=\"" + folder.string() + "\"", "--prompt", "to"}),
               2, {"model \"mlp\" of plugin mlp 0.1.0 cannot continue sequences"});
  check_refused(language_model(), {"--prompt", "to", "--set", "data.train={use=\"digits\"}"}, 2,
                "dataset \"digits\" of plugin digits 0.1.0 has no tokenizer; expected a dataset of texts");
}

TEST_CASE("a character that may be incomplete is shown with the next tokens") {
  using tenon::host::count_complete;
  const std::string unknown = "\xEF\xBF\xBD";
  CHECK(count_complete("") == 0);
  CHECK(count_complete("to \xC3\xBC") == 5);
  CHECK(count_complete("to" + unknown) == 2);
  CHECK(count_complete("to" + repeat(unknown, 3)) == 2);
  CHECK(count_complete("to" + repeat(unknown, 4)) == 5);
  CHECK(count_complete(unknown + "to") == 5);
}
