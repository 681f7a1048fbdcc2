// Compares sequences that the bundled models generate, with a cache, with those of PyTorch networks without one.
// tests/parity/make_generation.py writes the reference. Both sides compute the weights with a formula.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "framework/pipeline/build/load_weights.h"
#include "framework/pipeline/generation/generate.h"
#include "framework/support/diagnostics/error.h"
#include "tests/bundled/opened_components.h"
#include "tests/bundled/rounding.h"
#include "tests/bundled/scattered_numbers.h"
#include "tests/doctest_with_torch.h"

namespace generation_test {

using namespace tenon::bundled;
using namespace tenon::pipeline;
using tenon::components::Model;
using tenon::components::NamedTensor;
using tenon::config::Values;

namespace {

using Tokens = std::vector<int64_t>;

constexpr int64_t kSteps = 12, kSamples = 3, kBeams = 3;
constexpr uint64_t kSeed = 11;
constexpr Sampling kTopK = {.temperature = 0.8, .top_k = 4};
constexpr Sampling kTopP = {.temperature = 1.3, .top_p = 0.7};
constexpr BeamSearch kSearch = {.beams = kBeams, .length_penalty = 0.7};

struct Case {
  std::string name, component;
  Values params;
  double gain;
  int64_t vocabulary;
  Tokens source, prompt;
  int64_t end;
};

// The context of gpt is shorter than its sequences.
std::vector<Case> cases() {
  const Values gpt = {{"vocabulary_size", int64_t{11}},
                      {"context", int64_t{8}},
                      {"layers", int64_t{2}},
                      {"heads", int64_t{2}},
                      {"width", int64_t{8}}};
  const Values transformer = {{"vocabulary_size", int64_t{11}},
                              {"width", int64_t{8}},
                              {"heads", int64_t{2}},
                              {"feed_forward", int64_t{12}},
                              {"encoder_layers", int64_t{2}},
                              {"decoder_layers", int64_t{2}},
                              {"norm", std::string("pre")},
                              {"tied_embeddings", std::string("none")}};
  return {{"gpt", "gpt", gpt, 5, 11, {}, {3, 1, 4}, 10},
          {"transformer", "seq2seq_transformer", transformer, 1, 11, {3, 4, 5, 6, 2}, {1}, 10}};
}

int64_t salt_of(const std::string& name) {
  int64_t sum = 0;
  for (size_t place = 0; place < name.size(); ++place) sum += static_cast<int64_t>(place + 1) * name[place];
  return sum % 997;
}

Evaluation make_evaluation(const Case& of, torch::Dtype dtype) {
  Model model = build_model(of.component, of.params);
  const torch::NoGradGuard no_gradient;
  for (const NamedTensor& named : model.tensors()) {
    const at::Tensor values = scatter(named.tensor.sizes(), salt_of(named.name));
    const bool is_scale = named.name.ends_with("weight") && named.tensor.dim() == 1;
    const bool is_bias = named.name.find("bias") != std::string::npos;
    named.tensor.set_data((is_scale ? values + 1 : values * (is_bias ? 0.1 : of.gain)).to(dtype));
  }
  return {std::make_shared<const tenon::config::RunPlan>(), std::move(model)};
}

struct Expected {
  at::Tensor greedy, scores, beam, beam_scores, top_k, top_k_probabilities, top_p, top_p_probabilities;
};

// Reads the reference. An additional or missing tensor is an error.
Expected read_expected(const std::string& name) {
  std::vector<NamedTensor> all;
  Expected expected;
  for (const Case& of : cases()) {
    const auto add = [&](const char* what, const std::vector<int64_t>& shape, torch::Dtype dtype) {
      all.push_back({of.name + "." + what, torch::zeros(shape, dtype), false});
      return all.back().tensor;
    };
    const Expected found = {add("greedy", {1, kSteps}, torch::kInt64),
                            add("scores", {kSteps, of.vocabulary}, torch::kDouble),
                            add("beam", {kBeams, kSteps}, torch::kInt64),
                            add("beam_scores", {kBeams}, torch::kDouble),
                            add("top_k.sampled", {kSamples, kSteps}, torch::kInt64),
                            add("top_k.probabilities", {kSteps, of.vocabulary}, torch::kDouble),
                            add("top_p.sampled", {kSamples, kSteps}, torch::kInt64),
                            add("top_p.probabilities", {kSteps, of.vocabulary}, torch::kDouble)};
    if (of.name == name) expected = found;
  }
  load_weights(TENON_SOURCE_DIR "/tests/parity/reference/generation.safetensors", all);
  return expected;
}

ContinuedSequences start(Evaluation& evaluation, const Case& of) {
  return {evaluation, find_token_ports(evaluation.model, "run.toml"), {}, of.source, of.prompt};
}

Tokens row_of(const at::Tensor& rows, int64_t row) {
  Tokens tokens;
  for (int64_t i = 0; i < rows.size(1) && rows[row][i].item<int64_t>() >= 0; ++i)
    tokens.push_back(rows[row][i].item<int64_t>());
  return tokens;
}

at::Tensor to_tensor(std::span<const double> numbers) {
  return torch::tensor(std::vector<double>(numbers.begin(), numbers.end()), torch::kDouble);
}

bool should_continue(std::optional<int64_t>) { return true; }

// The scores after each token of `tokens`, and for some of them the probabilities of sampling.
at::Tensor follow(Evaluation& evaluation, const Case& of, const Tokens& tokens, const Sampling* sampling = nullptr) {
  ContinuedSequences sequences = start(evaluation, of);
  std::vector<at::Tensor> rows;
  for (const int64_t token : tokens) {
    const std::span<const double> scores = sequences.scores().front();
    rows.push_back(
        to_tensor(sampling ? sampling_probabilities(scores, *sampling) : std::vector(scores.begin(), scores.end())));
    sequences.append({token});
  }
  return torch::stack(rows);
}

}  // namespace

TEST_CASE("cached scores of each step are PyTorch's without a cache, also beyond the context") {
  for (const Case& of : cases()) {
    CAPTURE(of.name);
    const Expected expected = read_expected(of.name);
    Evaluation exact = make_evaluation(of, torch::kDouble), single = make_evaluation(of, torch::kFloat);
    const Tokens greedy = row_of(expected.greedy, 0);
    const at::Tensor found = follow(exact, of, greedy), in_single = follow(single, of, greedy);
    CHECK(largest_difference(found, expected.scores) < double_tolerance(largest_difference(in_single, found)));
    CHECK(largest_difference(in_single, expected.scores) < 1e-5);
  }
}

TEST_CASE("greedy, sampled and beam-searched sequences are PyTorch's in double and single precision") {
  for (const Case& of : cases()) {
    const Expected expected = read_expected(of.name);
    for (const torch::Dtype dtype : {torch::kDouble, torch::kFloat}) {
      CAPTURE(of.name);
      Evaluation evaluation = make_evaluation(of, dtype);
      const GeneratedSequence greedy = generate_greedily(start(evaluation, of), {kSteps}, should_continue);
      CHECK(greedy.tokens == row_of(expected.greedy, 0));
      CHECK(greedy.end == EndOfSequence::length);
      for (const auto& [sampling, tokens] : {std::pair{kTopK, expected.top_k}, std::pair{kTopP, expected.top_p}}) {
        const std::vector<GeneratedSequence> sampled =
            sample_sequences(start(evaluation, of), {kSteps, of.end}, sampling, kSeed, 0, kSamples, should_continue);
        REQUIRE(sampled.size() == kSamples);
        for (size_t i = 0; i < sampled.size(); ++i) {
          CHECK(sampled[i].tokens == row_of(tokens, static_cast<int64_t>(i)));
          CHECK((sampled[i].end == EndOfSequence::end_token) == (sampled[i].tokens.size() < kSteps));
        }
      }
      const std::vector<GeneratedSequence> beams =
          search_beams(start(evaluation, of), {kSteps, of.end}, kSearch, [] { return true; });
      REQUIRE(beams.size() == kBeams);
      for (size_t i = 0; i < beams.size(); ++i) {
        const auto row = static_cast<int64_t>(i);
        CHECK(beams[i].tokens == row_of(expected.beam, row));
        CHECK(beams[i].score == doctest::Approx(expected.beam_scores[row].item<double>()).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("probabilities after temperature, top-k and top-p are PyTorch's") {
  for (const Case& of : cases()) {
    CAPTURE(of.name);
    const Expected expected = read_expected(of.name);
    Evaluation exact = make_evaluation(of, torch::kDouble);
    const auto check = [&](const Sampling& sampling, const at::Tensor& tokens, const at::Tensor& probabilities) {
      Tokens first = row_of(tokens, 0);
      if (first.size() < kSteps) first.push_back(of.end);
      const at::Tensor found = follow(exact, of, first, &sampling);
      CHECK(largest_difference(found, probabilities.slice(0, 0, found.size(0))) < 1e-10);
    };
    check(kTopK, expected.top_k, expected.top_k_probabilities);
    check(kTopP, expected.top_p, expected.top_p_probabilities);
  }
}

TEST_CASE("cached scores equal those of the whole sequence, for several rows that are selected and reordered") {
  for (const Case& of : cases()) {
    CAPTURE(of.name);
    Evaluation evaluation = make_evaluation(of, torch::kDouble);
    const TokenPorts ports = find_token_ports(evaluation.model, "run.toml");
    for (int64_t round = 0; round < 20; ++round) {
      Tokens prompt = of.prompt;
      for (int64_t i = 0; i < round % 3; ++i) prompt.push_back((round * 5 + i * 3) % of.vocabulary);
      ContinuedSequences sequences(evaluation, ports, {}, of.source, prompt);
      std::vector<Tokens> written = {prompt};
      for (int64_t step = 0; step < 2 + round % 4; ++step) {
        // A selection of rows with repetitions, another number of them in each step.
        Tokens rows, tokens;
        std::vector<Tokens> selected;
        for (int64_t row = 0; row < 1 + (round + step) % 4; ++row) {
          rows.push_back((row * 7 + round + step) % static_cast<int64_t>(written.size()));
          tokens.push_back((row * 3 + round * 2 + step) % of.vocabulary);
          selected.push_back(written[static_cast<size_t>(rows.back())]);
          selected.back().push_back(tokens.back());
        }
        written = selected;
        sequences.select(rows);
        sequences.append(tokens);
        const std::vector<std::span<const double>> scores = sequences.scores();
        REQUIRE(scores.size() == written.size());
        for (size_t row = 0; row < written.size(); ++row) {
          ContinuedSequences whole(evaluation, ports, {}, of.source, written[row]);
          CHECK(largest_difference(to_tensor(scores[row]), to_tensor(whole.scores().front())) < 1e-10);
          if (ports.decoding.context > 0 && written[row].size() > static_cast<size_t>(ports.decoding.context)) continue;
          const torch::NoGradGuard no_gradient;
          std::vector<at::Tensor> inputs(evaluation.model.inputs().size());
          inputs[ports.decoding.tokens] = torch::tensor(written[row], torch::kInt64).unsqueeze(0);
          if (ports.source) inputs[*ports.source] = torch::tensor(of.source, torch::kInt64).unsqueeze(0);
          const at::Tensor full = evaluation.model.forward({}, inputs)[ports.decoding.scores].select(1, -1)[0];
          CHECK(largest_difference(to_tensor(scores[row]), full) < 1e-10);
        }
      }
    }
  }
}

TEST_CASE("one beam and top-k of 1 are greedy") {
  for (const Case& of : cases()) {
    CAPTURE(of.name);
    Evaluation evaluation = make_evaluation(of, torch::kFloat);
    for (const int64_t end : {int64_t{-1}, of.end}) {
      const GeneratedSequence greedy = generate_greedily(start(evaluation, of), {kSteps, end}, should_continue);
      const auto beams =
          search_beams(start(evaluation, of), {kSteps, end}, {.beams = 1, .length_penalty = 0}, [] { return true; });
      const auto sampled =
          sample_sequences(start(evaluation, of), {kSteps, end}, {.top_k = 1}, kSeed, 0, 2, should_continue);
      CHECK(beams.front().tokens == greedy.tokens);
      CHECK(beams.front().log_probability == doctest::Approx(greedy.log_probability));
      CHECK(sampled[0].tokens == greedy.tokens);
      CHECK(sampled[1].tokens == greedy.tokens);
    }
  }
}

TEST_CASE("a model without the extension reads all tokens again, with the same sequences") {
  const Case of = cases().front();
  Evaluation evaluation = make_evaluation(of, torch::kFloat);
  TokenPorts ports = find_token_ports(evaluation.model, "run.toml");
  const Tokens with =
      generate_greedily({evaluation, ports, {}, of.source, of.prompt}, {kSteps}, should_continue).tokens;
  ports.decoding.cache_count = 0;
  CHECK(generate_greedily({evaluation, ports, {}, of.source, of.prompt}, {kSteps}, should_continue).tokens == with);
}

TEST_CASE("tokens that the tokenizer does not know are never generated") {
  const Case of = cases().front();
  Evaluation evaluation = make_evaluation(of, torch::kFloat);
  TokenPorts ports = find_token_ports(evaluation.model, "run.toml");
  ports.tokenizer_size = 5;
  const ContinuedSequences sequences(evaluation, ports, {}, of.source, of.prompt);
  for (const GeneratedSequence& sequence :
       sample_sequences(sequences, {kSteps}, {.temperature = 100}, kSeed, 0, 20, should_continue)) {
    CHECK(std::ranges::max(sequence.tokens) < 5);
    CHECK(std::isfinite(sequence.log_probability));
  }
  for (const GeneratedSequence& sequence : search_beams(sequences, {kSteps}, {.beams = 7}, [] { return true; })) {
    CHECK(std::ranges::max(sequence.tokens) < 5);
    CHECK(std::isfinite(sequence.score));
  }
}

TEST_CASE("samples do not depend on how many there are") {
  const Case of = cases().front();
  Evaluation evaluation = make_evaluation(of, torch::kDouble);
  const auto sample = [&](int64_t prompt, int64_t samples) {
    return sample_sequences(start(evaluation, of), {kSteps, of.end}, {}, kSeed, prompt, samples, should_continue);
  };
  const auto many = sample(0, 8);
  CHECK(sample(0, 1)[0].tokens == many[0].tokens);
  CHECK(sample(0, 3)[2].tokens == many[2].tokens);
  CHECK(sample(1, 8)[0].tokens != many[0].tokens);
}

TEST_CASE("sampled first tokens have the model's probabilities") {
  const Case of = cases().back();
  Evaluation evaluation = make_evaluation(of, torch::kDouble);
  constexpr int64_t kDraws = 4000;
  const std::vector<double> expected = sampling_probabilities(start(evaluation, of).scores().front(), kTopP);
  std::vector<int64_t> counts(expected.size());
  const auto sampled = sample_sequences(start(evaluation, of), {1}, kTopP, kSeed, 0, kDraws, should_continue);
  for (const GeneratedSequence& sequence : sampled) ++counts[static_cast<size_t>(sequence.tokens.front())];
  double chi_square = 0;
  int64_t degrees = -1;
  for (size_t token = 0; token < expected.size(); ++token) {
    if (expected[token] == 0) {
      CHECK(counts[token] == 0);
      continue;
    }
    const double mean = expected[token] * kDraws;
    chi_square += (static_cast<double>(counts[token]) - mean) * (static_cast<double>(counts[token]) - mean) / mean;
    ++degrees;
  }
  REQUIRE(degrees > 2);
  // Mean and deviation of the chi-square distribution: k and sqrt(2 k). The seed is fixed, so the result is too.
  CHECK(chi_square < static_cast<double>(degrees) + 4 * std::sqrt(2.0 * static_cast<double>(degrees)));
}

TEST_CASE("generation can be stopped after a token") {
  const Case of = cases().front();
  Evaluation evaluation = make_evaluation(of, torch::kFloat);
  int64_t steps = 0;
  const GeneratedSequence sequence =
      generate_greedily(start(evaluation, of), {kSteps}, [&](std::optional<int64_t>) { return ++steps < 3; });
  CHECK(sequence.tokens.size() == 3);
  CHECK(sequence.end == EndOfSequence::stopped);
}

TEST_CASE("a score of NaN ends generation with an error") {
  const Case of = cases().front();
  Evaluation evaluation = make_evaluation(of, torch::kFloat);
  {
    const torch::NoGradGuard no_gradient;
    evaluation.model.tensors().front().tensor.fill_(std::nan(""));
  }
  CHECK_THROWS_WITH_AS(start(evaluation, of), doctest::Contains("a score of the next token is NaN"),
                       tenon::support::Error);
}

TEST_CASE("a model without the extension is understood by its ports") {
  // Its ports are those of the argument; nothing else is called.
  const auto find = [](const char* tokens, const char* scores) {
    static tenon_port input, output;
    input = {sizeof input,
             TENON_INPUT,
             0,
             TENON_STRING("x"),
             tenon_make_string(tokens, std::strlen(tokens)),
             TENON_DTYPE_BIT(TENON_INT64),
             TENON_STRING("")};
    output = {sizeof output,   TENON_OUTPUT,    0, TENON_STRING("y"), tenon_make_string(scores, std::strlen(scores)),
              TENON_ANY_FLOAT, TENON_STRING("")};
    static const tenon_port* const both[] = {&input, &output};
    tenon_model table{};
    table.size = sizeof table;
    table.create = [](const tenon_host*, const tenon_params*, void** self) {
      *self = nullptr;
      return tenon_status{TENON_OK};
    };
    table.destroy = [](void*) {};
    table.ports = [](void*, const tenon_port* const** ports, uint64_t* count) {
      *ports = both;
      *count = 2;
      return tenon_status{TENON_OK};
    };
    const tenon::components::PluginInfo plugin{{"test", "1.0", "MIT", ""}, "test.so", "", 1};
    const tenon::components::Component component{
        {tenon::config::ComponentKind::model, "words", "", {}}, &table, &plugin};
    return find_token_ports(Model(component, {}), "run.toml");
  };
  const TokenPorts found = find("N,T", "N,T,9");
  CHECK(found.decoding.cache_count == 0);
  CHECK(found.decoding.vocabulary == 9);
  CHECK_FALSE(found.source);
  CHECK_THROWS_WITH_AS(find("N,T", "N,S,9"), doctest::Contains("cannot continue sequences"), tenon::support::Error);
  CHECK_THROWS_WITH_AS(find("N,T", "N,T"), doctest::Contains("its ports are x: int64 [N, T], y:"),
                       tenon::support::Error);
}

TEST_CASE("a model of images cannot continue sequences") {
  Model model = open_model("small_cnn", {{"classes", int64_t{3}}});
  CHECK_THROWS_WITH_AS(find_token_ports(model, "run.toml"), doctest::Contains("cannot continue sequences"),
                       tenon::support::Error);
}

}  // namespace generation_test
