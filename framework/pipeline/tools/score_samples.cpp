#include "framework/pipeline/tools/score_samples.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "framework/pipeline/build/compute_losses.h"
#include "framework/pipeline/evaluation/predict.h"
#include "framework/pipeline/losses/loss_sums.h"

namespace tenon::pipeline {

namespace {

constexpr int64_t kMaxClasses = 1000;             // maximum number of classes for counting
constexpr int64_t kMaxValues = int64_t{1} << 20;  // maximum size of an output kept per sample

constexpr int64_t kMaxNumbers = 8;  // of a sample that one output predicts

// An output and the field with its targets.
struct Pair {
  enum class Kind { classes, tokens, numbers };

  Kind kind;
  size_t output;
  size_t field;
  std::optional<at::ScalarType> dtype;  // the field is converted to it
};

bool gives_classes_of(const at::Tensor& output, const at::Tensor& target) {
  if (!at::isFloatingType(output.scalar_type()) || !at::isIntegralType(target.scalar_type(), /*includeBool=*/false))
    return false;
  if (target.dim() < 1 || output.dim() != target.dim() + 1) return false;
  if (output.size(1) < 2 || output.size(1) > kMaxClasses) return false;
  std::vector<int64_t> places = output.sizes().vec();
  places.erase(places.begin() + 1);
  return target.sizes() == places;
}

// Scores [N, T, V] or tokens [N, T] for tokens [N, T].
bool gives_tokens_of(const at::Tensor& output, const at::Tensor& target) {
  if (!at::isIntegralType(target.scalar_type(), /*includeBool=*/false)) return false;
  if (at::isIntegralType(output.scalar_type(), /*includeBool=*/false)) return output.dim() == 2 && target.dim() == 2;
  return at::isFloatingType(output.scalar_type()) && output.dim() == target.dim() + 1 &&
         output.sizes().slice(0, static_cast<size_t>(target.dim())) == target.sizes();
}

bool gives_numbers_of(const at::Tensor& output, const at::Tensor& target) {
  if (!at::isFloatingType(output.scalar_type()) || !at::isFloatingType(target.scalar_type())) return false;
  return output.dim() >= 1 && target.dim() >= 1 && output.size(0) == target.size(0) && output.size(0) > 0 &&
         output.numel() == target.numel() && output.numel() / output.size(0) <= kMaxNumbers;
}

std::optional<Pair::Kind> find_kind(const at::Tensor& output, const at::Tensor& target, bool holds_tokens) {
  if (holds_tokens && gives_tokens_of(output, target)) return Pair::Kind::tokens;
  if (!holds_tokens && gives_classes_of(output, target)) return Pair::Kind::classes;
  if (gives_numbers_of(output, target)) return Pair::Kind::numbers;
  return std::nullopt;
}

// Finds the pairs of outputs and fields that are inputs of the same loss or metric.
std::vector<Pair> find_pairs(const BoundDataset& data, const BatchTensors& batch_tensors) {
  std::vector<Pair> pairs;
  const auto& tokenizer = data.feed.dataset().tokenizer();
  const auto add = [&](const Source& output, const Source& field) {
    if (output.kind != Source::Kind::output || field.kind != Source::Kind::field) return;
    const bool holds_tokens = tokenizer && tokenizer->holds_tokens(data.transforms.fields()[field.index].name);
    const auto kind = find_kind(output.take(batch_tensors), field.take(batch_tensors), holds_tokens);
    const auto is_known = [&](const Pair& pair) { return pair.output == output.index || pair.field == field.index; };
    if (kind && std::ranges::none_of(pairs, is_known)) pairs.push_back({*kind, output.index, field.index, field.dtype});
  };
  for (const auto* wirings : {&data.losses, &data.metrics})
    for (const Wiring& wiring : *wirings)
      for (const Source& output : wiring.sources())
        for (const Source& field : wiring.sources()) add(output, field);
  return pairs;
}

at::Tensor count_classes(const at::Tensor& predicted, const at::Tensor& target, int64_t classes) {
  const at::Tensor is_class = target.ge(0).logical_and(target.lt(classes));
  const at::Tensor cells = target.masked_select(is_class).to(at::kLong) * classes + predicted.masked_select(is_class);
  return at::bincount(cells, {}, classes * classes).view({classes, classes});
}

BatchTensors take_row(const BatchTensors& batch_tensors, int64_t row) {
  BatchTensors one;
  for (const at::Tensor& field : batch_tensors.fields) one.fields.push_back(field.narrow(0, row, 1));
  for (const at::Tensor& lengths : batch_tensors.lengths)
    one.lengths.push_back(lengths.defined() ? lengths.narrow(0, row, 1) : lengths);
  for (const at::Tensor& output : batch_tensors.outputs) one.outputs.push_back(output.narrow(0, row, 1));
  return one;
}

class Scoring {
 public:
  Scoring(Evaluation& evaluation, BoundDataset& data, components::StepContext context, const ScoringLimits& limits)
      : evaluation_(evaluation), data_(data), context_(context), limits_(limits), sums_(evaluation.losses) {
    context_.training = false;
    scores_.data = data.name();
    scores_.size = data.feed.sampler().size();
  }

  SampleScores run(const std::function<bool()>& should_continue) {
    const std::vector<int64_t> samples = choose_samples();
    size_t first = 0;
    data::Loader& loader = data_.feed.loader();
    loader.start(samples, /*epoch=*/0);
    while (const data::Batch* batch = loader.next()) {
      const std::vector<int64_t> indices = data::list_samples(*batch, samples, first);
      first += indices.size() + batch->skipped.size();
      if (batch->size == 0) continue;
      BatchTensors batch_tensors = data_.to_batch_tensors(*batch, /*training=*/false);
      run_model(evaluation_, data_, batch_tensors, context_);
      if (!evaluation_.model.results().empty())
        batch_tensors.results = compute_results(evaluation_.model, batch_tensors.outputs, context_);
      take({indices, batch_tensors});
      if (!should_continue()) break;
    }
    keep_separate();
    for (ClassCounts& one : scores_.classes) one.counts = one.counts.cpu();
    finish_numbers();
    return std::move(scores_);
  }

 private:
  std::vector<int64_t> choose_samples() const {
    const std::vector<int64_t> order = data_.feed.sampler().order(/*epoch=*/0);
    const auto size = static_cast<int64_t>(order.size());
    std::vector<int64_t> chosen = data::spread_places(size, std::min(size, limits_.samples));
    for (int64_t& place : chosen) place = order[static_cast<size_t>(place)];
    return chosen;
  }

  void take(const Prediction& batch) {
    if (!pairs_) begin(batch.batch_tensors);
    const auto rows = static_cast<int64_t>(batch.indices.size());
    std::vector<at::Tensor> predicted;  // one per pair
    for (const Pair& pair : *pairs_) predicted.push_back(predict_pair(batch.batch_tensors, pair, rows));
    for (int64_t row = 0; row < rows; ++row) score(batch, row, predicted);
    scores_.scored += rows;
  }

  void begin(const BatchTensors& batch_tensors) {
    pairs_ = find_pairs(data_, batch_tensors);
    for (const Pair& pair : *pairs_) {
      const std::string &output = evaluation_.model.outputs()[pair.output].name, &field = field_name(pair.field);
      if (pair.kind == Pair::Kind::numbers) scores_.numbers.push_back({output, field, {}});
      if (pair.kind != Pair::Kind::classes) continue;
      const int64_t classes = batch_tensors.outputs[pair.output].size(1);
      scores_.classes.push_back({output, field,
                                 at::zeros({classes, classes}, at::device(evaluation_.device).dtype(at::kLong)),
                                 batch_tensors.fields[pair.field].dim() == 1});
    }
  }

  const std::string& field_name(size_t field) const { return data_.transforms.fields()[field].name; }

  template <class Results>
  auto& find_result(Results& results, const Pair& pair) {
    return *std::ranges::find(results, field_name(pair.field), [](const auto& one) { return one.target; });
  }

  // Returns what the output predicts for the rows, and counts it.
  at::Tensor predict_pair(const BatchTensors& batch_tensors, const Pair& pair, int64_t rows) {
    const at::Tensor output = batch_tensors.outputs[pair.output].narrow(0, 0, rows);
    const at::Tensor field = batch_tensors.fields[pair.field].narrow(0, 0, rows);
    const at::Tensor target = pair.dtype ? field.to(*pair.dtype) : field;
    if (pair.kind == Pair::Kind::tokens) return read_tokens(output);
    if (pair.kind == Pair::Kind::numbers) {
      numbers_.resize(scores_.numbers.size());
      const auto place = static_cast<size_t>(&find_result(scores_.numbers, pair) - scores_.numbers.data());
      const auto flatten = [&](const at::Tensor& one) { return one.reshape({rows, -1}).to(at::kCPU, at::kDouble); };
      numbers_[place].push_back(at::stack({flatten(target), flatten(output)}, -1));
      return output.reshape_as(target);
    }
    const at::Tensor predicted = output.argmax(1);
    find_result(scores_.classes, pair).counts += count_classes(predicted, target, output.size(1));
    return predicted;
  }

  // The model may have more tokens than the tokenizer, which no text contains.
  at::Tensor read_tokens(const at::Tensor& output) const {
    if (!at::isFloatingType(output.scalar_type())) return output;
    const int64_t vocabulary = data_.feed.dataset().tokenizer()->vocabulary_size();
    return output.narrow(-1, 0, std::min(vocabulary, output.size(-1))).argmax(-1);
  }

  // Returns nothing for a field that holds no tokens.
  std::optional<std::string> decode(const std::string& field, const at::Tensor& tokens) const {
    const auto& tokenizer = data_.feed.dataset().tokenizer();
    if (!tokenizer || !tokenizer->holds_tokens(field) || !at::isIntegralType(tokens.scalar_type(), false))
      return std::nullopt;
    const at::Tensor all = tokens.reshape({-1}).to(at::kLong);
    const at::Tensor numbers = all.masked_select(all.lt(tokenizer->vocabulary_size())).contiguous();
    return tokenizer->decode({numbers.const_data_ptr<int64_t>(), static_cast<size_t>(numbers.numel())});
  }

  void finish_numbers() {
    for (size_t i = 0; i < numbers_.size(); ++i) scores_.numbers[i].values = at::cat(numbers_[i]);
    std::erase_if(scores_.numbers, [](const PredictedNumbers& one) {
      if (!one.values.defined()) return true;
      const at::Tensor targets = one.values.select(-1, 0);
      return targets.eq(0).logical_or(targets.eq(1)).all().item<bool>();
    });
  }

  void score(const Prediction& batch, int64_t row, const std::vector<at::Tensor>& predicted) {
    const double loss = compute_loss(take_row(batch.batch_tensors, row));
    if (!std::isfinite(loss)) return;
    ++ranked_;
    const auto make = [&] {
      return ScoredSample{batch.indices[static_cast<size_t>(row)], loss,
                          list_values(batch.batch_tensors, row, predicted)};
    };
    insert(scores_.worst, loss, std::greater<double>(), make);
    insert(scores_.best, loss, std::less<double>(), make);
  }

  double compute_loss(const BatchTensors& batch_tensors) {
    sums_.reset();
    sums_.add(compute_losses(evaluation_, data_, batch_tensors, context_), context_);
    return sums_.total();
  }

  std::vector<NamedValue> list_values(const BatchTensors& batch_tensors, int64_t row,
                                      const std::vector<at::Tensor>& predicted) const {
    std::vector<NamedValue> values;
    const auto add = [&](const std::string& name, const at::Tensor& batch, const at::Tensor& shapes = {}) {
      at::Tensor value = take_sample(batch, shapes, row);
      if (at::isReducedFloatingType(value.scalar_type())) value = value.to(at::kFloat);
      values.push_back({name, value.to(at::kCPU, value.scalar_type(), false, /*copy=*/true).contiguous()});
    };
    for (size_t i = 0; i < batch_tensors.fields.size(); ++i) {
      add(field_name(i), batch_tensors.fields[i], find_sample_shapes(batch_tensors, i, data_.transforms.fields()[i]));
      values.back().text = decode(field_name(i), values.back().value);
    }
    for (size_t i = 0; i < batch_tensors.outputs.size(); ++i) {
      const auto pair = std::ranges::find(*pairs_, i, &Pair::output);
      if (pair != pairs_->end()) {
        // Predictions of pixels have the padding of their targets.
        const at::Tensor& one = predicted[static_cast<size_t>(pair - pairs_->begin())];
        const bool is_padded = one.sizes() == batch_tensors.fields[pair->field].sizes();
        add("predicted " + field_name(pair->field), one,
            is_padded ? find_sample_shapes(batch_tensors, pair->field, data_.transforms.fields()[pair->field])
                      : at::Tensor());
        values.back().text = decode(field_name(pair->field), values.back().value);
      } else if (batch_tensors.outputs[i].select(0, row).numel() <= kMaxValues) {
        add(evaluation_.model.outputs()[i].name, batch_tensors.outputs[i]);
        values.back().is_output = true;
      }
    }
    for (size_t i = 0; i < batch_tensors.results.values.size(); ++i) {
      const std::string name = name_result(evaluation_.model.results()[i], data_.transforms.fields());
      add(name, batch_tensors.results.values[i], find_result_shapes(batch_tensors, i));
    }
    return values;
  }

  // Among equal losses the earlier sample comes first.
  template <class Order, class Make>
  void insert(std::vector<ScoredSample>& kept, double loss, Order comes_before, const Make& make) const {
    const auto place =
        std::ranges::find_if(kept, [&](const ScoredSample& one) { return comes_before(loss, one.loss); });
    if (place == kept.end() && kept.size() >= limits_.kept) return;
    kept.insert(place, make());
    if (kept.size() > limits_.kept) kept.pop_back();
  }

  // With few samples, no sample is in both lists.
  void keep_separate() {
    scores_.worst.resize(std::min(scores_.worst.size(), (ranked_ + 1) / 2));
    scores_.best.resize(std::min(scores_.best.size(), ranked_ / 2));
  }

  Evaluation& evaluation_;
  BoundDataset& data_;
  components::StepContext context_;
  ScoringLimits limits_;
  LossSums sums_;
  std::optional<std::vector<Pair>> pairs_;  // known after the first batch
  SampleScores scores_;
  std::vector<std::vector<at::Tensor>> numbers_;  // batches of scores_.numbers
  size_t ranked_ = 0;                             // samples with a finite loss
};

}  // namespace

SampleScores score_samples(Evaluation& evaluation, BoundDataset& data, const components::StepContext& context,
                           const ScoringLimits& limits, const std::function<bool()>& should_continue) {
  const at::NoGradGuard no_grad;
  return Scoring(evaluation, data, context, limits).run(should_continue);
}

}  // namespace tenon::pipeline
