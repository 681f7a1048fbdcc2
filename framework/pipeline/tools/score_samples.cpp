#include "framework/pipeline/tools/score_samples.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "framework/pipeline/build/compute_losses.h"
#include "framework/pipeline/evaluation/predict.h"
#include "framework/pipeline/losses/loss_sums.h"

namespace tenon::pipeline {

namespace {

constexpr int64_t kMaxClasses = 1000;             // maximum number of classes for counting
constexpr int64_t kMaxValues = int64_t{1} << 20;  // maximum size of an output kept per sample

// An output and the field with its target classes.
struct ClassPair {
  size_t output;
  size_t field;
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

// Finds the pairs of outputs and fields that are inputs of the same loss or metric.
std::vector<ClassPair> find_class_pairs(const BoundDataset& data, const BatchTensors& batch_tensors) {
  std::vector<ClassPair> pairs;
  const auto add = [&](const Source& output, const Source& field) {
    if (output.kind != Source::Kind::output || field.kind != Source::Kind::field) return;
    if (!gives_classes_of(output.take(batch_tensors), field.take(batch_tensors))) return;
    const auto is_known = [&](const ClassPair& pair) {
      return pair.output == output.index || pair.field == field.index;
    };
    if (std::ranges::none_of(pairs, is_known)) pairs.push_back({output.index, field.index});
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
  for (const at::Tensor& output : batch_tensors.outputs) one.outputs.push_back(output.narrow(0, row, 1));
  return one;
}

class Scoring {
 public:
  Scoring(Evaluation& evaluation, BoundDataset& data, plugins::StepContext context, const ScoringLimits& limits)
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
      take({indices, batch_tensors});
      if (!should_continue()) break;
    }
    keep_separate();
    for (ClassCounts& one : scores_.classes) one.counts = one.counts.cpu();
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
    for (size_t i = 0; i < pairs_->size(); ++i) predicted.push_back(count(batch.batch_tensors, i, rows));
    for (int64_t row = 0; row < rows; ++row) score(batch, row, predicted);
    scores_.scored += rows;
  }

  void begin(const BatchTensors& batch_tensors) {
    pairs_ = find_class_pairs(data_, batch_tensors);
    for (const ClassPair& pair : *pairs_) {
      const int64_t classes = batch_tensors.outputs[pair.output].size(1);
      scores_.classes.push_back({evaluation_.model.outputs()[pair.output].name, field_name(pair.field),
                                 at::zeros({classes, classes}, at::device(evaluation_.device).dtype(at::kLong)),
                                 batch_tensors.fields[pair.field].dim() == 1});
    }
  }

  const std::string& field_name(size_t field) const { return data_.transforms.fields()[field].name; }

  // Returns the predicted classes of the rows and counts them.
  at::Tensor count(const BatchTensors& batch_tensors, size_t pair, int64_t rows) {
    const at::Tensor output = batch_tensors.outputs[(*pairs_)[pair].output].narrow(0, 0, rows);
    const at::Tensor target = batch_tensors.fields[(*pairs_)[pair].field].narrow(0, 0, rows);
    at::Tensor predicted = output.argmax(1);
    scores_.classes[pair].counts += count_classes(predicted, target, output.size(1));
    return predicted;
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
    const auto add = [&](const std::string& name, const at::Tensor& batch) {
      at::Tensor value = batch.select(0, row);
      if (at::isReducedFloatingType(value.scalar_type())) value = value.to(at::kFloat);
      values.push_back({name, value.to(at::kCPU, value.scalar_type(), false, /*copy=*/true).contiguous()});
    };
    for (size_t i = 0; i < batch_tensors.fields.size(); ++i) add(field_name(i), batch_tensors.fields[i]);
    for (size_t i = 0; i < batch_tensors.outputs.size(); ++i) {
      const auto pair = std::ranges::find(*pairs_, i, &ClassPair::output);
      if (pair != pairs_->end())
        add("predicted " + field_name(pair->field), predicted[static_cast<size_t>(pair - pairs_->begin())]);
      else if (batch_tensors.outputs[i].select(0, row).numel() <= kMaxValues)
        add(evaluation_.model.outputs()[i].name, batch_tensors.outputs[i]);
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
  plugins::StepContext context_;
  ScoringLimits limits_;
  LossSums sums_;
  std::optional<std::vector<ClassPair>> pairs_;  // known after the first batch
  SampleScores scores_;
  size_t ranked_ = 0;  // samples with a finite loss
};

}  // namespace

SampleScores score_samples(Evaluation& evaluation, BoundDataset& data, const plugins::StepContext& context,
                           const ScoringLimits& limits, const std::function<bool()>& should_continue) {
  const torch::NoGradGuard no_grad;
  return Scoring(evaluation, data, context, limits).run(should_continue);
}

}  // namespace tenon::pipeline
