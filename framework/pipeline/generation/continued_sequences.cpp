#include "framework/pipeline/generation/continued_sequences.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/precision/precision.h"
#include "framework/support/diagnostics/check.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"

namespace tenon::pipeline {

using support::Error;
using support::ErrorKind;

namespace {

bool has_ndim(const components::Port& port, size_t ndim) {
  return !port.shape.any && !port.shape.open_ended && port.shape.extents.size() == ndim;
}

bool holds_tokens(const components::Port& port) {
  return has_ndim(port, 2) && (port.dtypes == 0 || (port.dtypes & TENON_DTYPE_BIT(TENON_INT64)) != 0);
}

// A model without the extension: tokens [N, T] as the only input, and scores [N, T, V].
std::optional<components::Decoding> find_language_model(const components::Model& model) {
  if (model.inputs().size() != 1 || !holds_tokens(model.inputs().front())) return {};
  const std::string length = model.inputs().front().shape.extents[1].name;
  for (size_t i = 0; i < model.outputs().size(); ++i) {
    const components::Port& output = model.outputs()[i];
    if (!has_ndim(output, 3) || length.empty() || output.shape.extents[1].name != length) continue;
    return components::Decoding{0, i, 0, 0, output.shape.extents[2].size.value_or(0)};
  }
  return {};
}

std::string list_ports(const components::Model& model) {
  std::string list;
  for (const auto* ports : {&model.inputs(), &model.outputs()})
    for (const components::Port& port : *ports) list += (list.empty() ? "" : ", ") + port.describe();
  return list;
}

}  // namespace

TokenPorts find_token_ports(const components::Model& model, const std::string& place) {
  const auto refuse = [&](const std::string& reason) {
    throw Error(ErrorKind::configuration, "{}: {} {}", place, model.component().describe(), reason);
  };
  std::optional<components::Decoding> decoding = model.decoding();
  if (!decoding) decoding = find_language_model(model);
  if (!decoding)
    refuse("cannot continue sequences: its ports are " + list_ports(model) +
           "; expected a model of tokens, such as gpt or seq2seq_transformer, or one with the extension " +
           TENON_DECODING);
  TokenPorts ports = {*decoding, {}};
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    if (i == decoding->tokens) continue;
    if (ports.source || !holds_tokens(model.inputs()[i]))
      refuse(fmt::format("has the input {}; expected at most one input of tokens besides {}",
                         model.inputs()[i].describe(), model.inputs()[decoding->tokens].name));
    ports.source = i;
  }
  return ports;
}

ContinuedSequences::ContinuedSequences(Evaluation& evaluation, const TokenPorts& ports,
                                       const components::StepContext& context, const std::vector<int64_t>& source,
                                       const std::vector<int64_t>& prompt)
    : evaluation_(evaluation), ports_(ports), context_(context), sequences_{prompt} {
  TENON_CHECK(!prompt.empty(), "the prompt is empty");
  TENON_CHECK(source.empty() != ports.source.has_value(), "a source of " << source.size() << " tokens");
  if (ports.source) source_ = at::tensor(source, at::kLong).unsqueeze(0).to(evaluation.device);
  read_all();
}

std::vector<at::Tensor> ContinuedSequences::place_inputs(const at::Tensor& tokens, const at::Tensor& source) const {
  std::vector<at::Tensor> inputs(evaluation_.model.inputs().size());
  inputs[ports_.decoding.tokens] = tokens;
  if (ports_.source) inputs[*ports_.source] = source;
  return inputs;
}

void ContinuedSequences::read_all() {
  const at::NoGradGuard no_grad;
  const precision::Autocast autocast(evaluation_.precision, evaluation_.device.type());
  const auto rows = static_cast<int64_t>(sequences_.size());
  const auto length = static_cast<int64_t>(sequences_.front().size());
  const int64_t context = ports_.decoding.context;
  const int64_t window = context > 0 ? std::min(length, context) : length;
  std::vector<int64_t> flat;
  for (const std::vector<int64_t>& sequence : sequences_)
    flat.insert(flat.end(), sequence.end() - window, sequence.end());
  const at::Tensor tokens = at::tensor(flat, at::kLong).reshape({rows, window}).to(evaluation_.device);
  const std::vector<at::Tensor> inputs =
      place_inputs(tokens, source_.defined() ? source_.expand({rows, -1}).contiguous() : source_);
  if (ports_.decoding.cache_count == 0) {
    take(evaluation_.model.forward(context_, inputs)[ports_.decoding.scores].select(1, -1));
    return;
  }
  components::Decoded decoded = evaluation_.model.decode(context_, inputs, {});
  cache_ = std::move(decoded.cache);
  take(decoded.scores);
}

void ContinuedSequences::read_last(const std::vector<int64_t>& tokens) {
  const at::NoGradGuard no_grad;
  const precision::Autocast autocast(evaluation_.precision, evaluation_.device.type());
  const at::Tensor last = at::tensor(tokens, at::kLong).unsqueeze(1).to(evaluation_.device);
  components::Decoded decoded = evaluation_.model.decode(context_, place_inputs(last, {}), cache_);
  cache_ = std::move(decoded.cache);
  take(decoded.scores);
}

void ContinuedSequences::take(const at::Tensor& scores) {
  scores_ = scores.to(at::kCPU, at::kDouble, /*non_blocking=*/false, /*copy=*/true).contiguous();
  if (ports_.tokenizer_size > 0)
    scores_.slice(1, ports_.tokenizer_size).fill_(-std::numeric_limits<double>::infinity());
  for (const std::span<const double> row : this->scores()) {
    const bool has_nan = std::ranges::any_of(row, [](double score) { return std::isnan(score); });
    const double largest = *std::ranges::max_element(row);
    if (!has_nan && std::isfinite(largest)) continue;
    throw Error(ErrorKind::non_finite,
                "{}: {}; expected finite numbers; check the weights, or use train.precision = \"fp32\"",
                evaluation_.model.component().describe(),
                has_nan ? "a score of the next token is NaN" : "the largest score of the next token is infinite");
  }
}

std::vector<std::span<const double>> ContinuedSequences::scores() const {
  const auto vocabulary = static_cast<size_t>(scores_.size(1));
  std::vector<std::span<const double>> rows;
  for (int64_t row = 0; row < scores_.size(0); ++row)
    rows.emplace_back(scores_.const_data_ptr<double>() + static_cast<size_t>(row) * vocabulary, vocabulary);
  return rows;
}

void ContinuedSequences::append(const std::vector<int64_t>& tokens) {
  TENON_CHECK(tokens.size() == sequences_.size(), tokens.size() << " tokens for " << sequences_.size());
  for (size_t row = 0; row < tokens.size(); ++row) sequences_[row].push_back(tokens[row]);
  const int64_t context = ports_.decoding.context;
  const bool is_full = context > 0 && static_cast<int64_t>(sequences_.front().size()) > context;
  cache_.empty() || is_full ? read_all() : read_last(tokens);
}

void ContinuedSequences::select(const std::vector<int64_t>& rows) {
  const at::NoGradGuard no_grad;
  std::vector<std::vector<int64_t>> selected;
  for (const int64_t row : rows) selected.push_back(sequences_.at(static_cast<size_t>(row)));
  sequences_ = std::move(selected);
  const at::Tensor index = at::tensor(rows, at::kLong);
  scores_ = scores_.index_select(0, index);
  if (cache_.empty()) return;
  const at::Tensor on_device = index.to(evaluation_.device);
  for (at::Tensor& tensor : cache_) tensor = tensor.index_select(0, on_device);
}

}  // namespace tenon::pipeline
