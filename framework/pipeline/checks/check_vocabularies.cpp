#include "framework/pipeline/checks/check_vocabularies.h"

#include <algorithm>
#include <optional>

#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format_values.h"

namespace tenon::pipeline {

namespace {

using components::Tokenizer;

// A vocabulary may have millions of tokens.
constexpr int64_t kMostCompared = 1 << 16;

std::string quote(const std::string& text) { return text.empty() ? "none" : config::to_toml(text); }

std::optional<std::string> find_difference(const Tokenizer& trained, const Tokenizer& other) {
  if (other.vocabulary_size() != trained.vocabulary_size())
    return "has a vocabulary of " + support::format_count(other.vocabulary_size(), "token") + ", and train of " +
           std::to_string(trained.vocabulary_size());
  for (int64_t token = 0; token < std::min(trained.vocabulary_size(), kMostCompared); ++token) {
    const std::string a = trained.decode({&token, 1}), b = other.decode({&token, 1});
    if (a != b)
      return "has the text " + quote(b) + " for the token " + std::to_string(token) + ", and train " + quote(a);
  }
  return std::nullopt;
}

void compare(const BoundDataset& train, const BoundDataset& other, const std::string& place) {
  const auto &trained = train.feed.dataset().tokenizer(), &found = other.feed.dataset().tokenizer();
  if (!trained || !found) return;
  const auto difference = find_difference(*trained, *found);
  if (!difference) return;
  throw support::Error(support::ErrorKind::configuration,
                       place + ": " + other.name() + " " + *difference +
                           "; expected the same tokens: set the tokenizer of both to the same file");
}

}  // namespace

void check_vocabularies(const Training& training) {
  const config::DataSection& plan = training.plan->data;
  for (size_t i = 0; i < training.validation.size(); ++i)
    compare(*training.train, *training.validation[i], plan.validation[i].place);
  for (size_t i = 0; i < training.test.size(); ++i) compare(*training.train, *training.test[i], plan.test[i].place);
  for (size_t i = 0; i < training.scheduled_train.size(); ++i)
    compare(*training.train, *training.scheduled_train[i].dataset, plan.scheduled_train[i].place);
}

}  // namespace tenon::pipeline
