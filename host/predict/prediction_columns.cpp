#include "host/predict/prediction_columns.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "framework/components/tensors/tensor_handles.h"
#include "framework/formats/nearest_name.h"
#include "framework/support/diagnostics/error.h"
#include "host/command_line/command.h"

namespace tenon::host {

using pipeline::Source;
using Apply = PredictionColumn::Apply;

namespace {

constexpr std::pair<const char*, Apply> kFunctions[] = {
    {"softmax", Apply::softmax}, {"sigmoid", Apply::sigmoid}, {"argmax", Apply::argmax}, {"text", Apply::text}};

size_t find(const std::string& name, const std::vector<std::string>& known, const char* option, const char* what) {
  const auto found = std::ranges::find(known, name);
  if (found == known.end())
    throw_command_line_error("{} names \"{}\"{}; expected {}", option, name, formats::suggest_name(name, known), what);
  return static_cast<size_t>(found - known.begin());
}

Apply parse_function(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [text, function] : kFunctions) {
    if (name == text) return function;
    known.emplace_back(text);
  }
  throw_command_line_error("--apply names the function \"{}\"{}", name, formats::suggest_name(name, known));
}

std::string print(Apply apply) {
  for (const auto& [text, function] : kFunctions)
    if (function == apply) return text;
  return "";
}

// A parsed `argmax` or `logits=argmax`.
struct Application {
  size_t output;  // index in the list of chosen outputs
  Apply function;
};

Application parse_application(const std::string& text, const std::vector<std::string>& chosen) {
  const size_t equals = text.rfind('=');
  const Apply function = parse_function(equals == text.npos ? text : text.substr(equals + 1));
  if (equals != text.npos)
    return {find(text.substr(0, equals), chosen, "--apply", "an output that is written"), function};
  if (chosen.size() != 1)
    throw_command_line_error("--apply {0} needs exactly one output, but {1} are written; expected --apply OUTPUT={0}",
                             text, chosen.size());
  return {0, function};
}

void require_text(const TextSupport& text) {
  if (!text.tokenizer)
    throw_command_line_error("--apply text needs a dataset with a tokenizer, such as text_pairs; this one has none");
  if (!text.is_writable)
    throw_command_line_error(
        "--apply text: a .safetensors file holds no text; expected an --output that ends in .csv or .jsonl");
}

// The name and function of a field's column.
PredictionColumn choose_field(const components::SampleField& field, size_t index, const TextSupport& text) {
  if (text.is_writable && text.tokenizer && text.tokenizer->holds_tokens(field.name) && field.is_integer())
    return {field.name + "." + print(Apply::text), field.name, Source::Kind::field, index, Apply::text};
  return {field.name, field.name, Source::Kind::field, index};
}

std::vector<PredictionColumn> choose_outputs(const ColumnChoice& choice, const components::Model& model) {
  std::vector<std::string> known, results;
  for (const components::Port& port : model.outputs()) known.push_back(port.name);
  for (const components::ModelResult& result : model.results()) results.push_back(result.name);
  const std::vector<std::string> chosen = choice.outputs.value_or(results.empty() ? known : results);
  const size_t outputs = known.size();
  known.insert(known.end(), results.begin(), results.end());
  std::vector<std::vector<Apply>> functions(chosen.size());
  for (const std::string& text : choice.apply) {
    const Application application = parse_application(text, chosen);
    functions[application.output].push_back(application.function);
  }
  std::vector<PredictionColumn> columns;
  for (size_t i = 0; i < chosen.size(); ++i) {
    const size_t place = find(chosen[i], known, "--outputs", "an output or a result of the model");
    const Source::Kind kind = place < outputs ? Source::Kind::output : Source::Kind::result;
    const size_t index = place < outputs ? place : place - outputs;
    if (kind == Source::Kind::result && !functions[i].empty())
      throw_command_line_error("--apply names {}, a result of the model; expected an output", chosen[i]);
    if (functions[i].empty()) columns.push_back({chosen[i], chosen[i], kind, index});
    for (const Apply function : functions[i])
      columns.push_back({chosen[i] + "." + print(function), chosen[i], kind, index, function});
  }
  return columns;
}

void require_unique(const std::vector<PredictionColumn>& columns) {
  std::set<std::pair<Source::Kind, std::string>> known;
  for (const PredictionColumn& column : columns)
    if (!known.emplace(column.kind, column.name).second)
      throw_command_line_error(
          "the name \"{}\" occurs twice; expected unique names: choose with --outputs and --fields", column.name);
}

void distinguish(std::vector<PredictionColumn>& columns, const std::vector<std::string>& reserved) {
  std::multiset<std::string> names(reserved.begin(), reserved.end());
  for (const PredictionColumn& column : columns) names.insert(column.name);
  for (PredictionColumn& column : columns)
    if (names.count(column.name) > 1)
      column.name = (column.kind == Source::Kind::field    ? "data."
                     : column.kind == Source::Kind::result ? "result."
                                                           : "model.") +
                    column.name;
}

// Returns [N, T] of int64, contiguous on the CPU, from integers [N, ...] or from scores [N, ..., V], where V is at
// least the vocabulary; the token is the largest of the vocabulary.
at::Tensor read_tokens(const std::string& name, const at::Tensor& tensor, const components::Tokenizer& tokenizer) {
  const bool is_scores = c10::isFloatingType(tensor.scalar_type());
  const bool fits = is_scores ? tensor.dim() >= 2 && tensor.size(-1) >= tokenizer.vocabulary_size()
                              : tensor.dim() >= 1 && c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/false);
  if (!fits)
    throw support::Error(support::ErrorKind::configuration,
                         "the text of {}: it is {}; expected integers [N, T], or scores [N, T, V] with V of at least "
                         "{}, the tokenizer's vocabulary: use the tokenizer with which the weights were trained",
                         name, components::describe(tensor), tokenizer.vocabulary_size());
  // A model may have more tokens than the tokenizer, which no text contains.
  const at::Tensor tokens = is_scores ? tensor.narrow(-1, 0, tokenizer.vocabulary_size()).argmax(-1) : tensor;
  return tokens.reshape({tokens.size(0), -1}).to(at::kCPU, at::kLong).contiguous();
}

const at::Tensor& pick(const PredictionColumn& column, const pipeline::BatchTensors& batch_tensors) {
  if (column.kind == Source::Kind::result) return batch_tensors.results.values[column.index];
  return column.kind == Source::Kind::field ? batch_tensors.fields[column.index] : batch_tensors.outputs[column.index];
}

}  // namespace

at::Tensor PredictionColumn::read(const pipeline::BatchTensors& batch_tensors) const {
  at::Tensor tensor = pick(*this, batch_tensors);
  if (tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16) tensor = tensor.to(at::kFloat);
  const bool needs_classes = apply == Apply::softmax || apply == Apply::argmax;
  const bool needs_floats = apply == Apply::softmax || apply == Apply::sigmoid;
  if ((needs_classes && (tensor.dim() < 2 || tensor.size(1) == 0)) ||
      (needs_floats && !c10::isFloatingType(tensor.scalar_type())))
    throw_command_line_error("--apply {}: the output is {}; expected {}{}", print(apply), components::describe(tensor),
                             needs_floats ? "floats" : "numbers",
                             needs_classes ? " with a dimension of classes, [N, C, ...]" : "");
  if (apply == Apply::softmax) tensor = tensor.softmax(1);
  if (apply == Apply::sigmoid) tensor = tensor.sigmoid();
  if (apply == Apply::argmax) tensor = tensor.argmax(1);
  return tensor.cpu().contiguous();
}

std::vector<std::string> PredictionColumn::read_text(const pipeline::BatchTensors& batch_tensors,
                                                     const components::Tokenizer& tokenizer) const {
  const at::Tensor tokens = read_tokens(name, pick(*this, batch_tensors), tokenizer);
  const auto width = static_cast<size_t>(tokens.size(1));
  std::vector<std::string> texts;
  for (int64_t row = 0; row < tokens.size(0); ++row)
    texts.push_back(
        tokenizer.decode(std::span(tokens.const_data_ptr<int64_t>() + static_cast<size_t>(row) * width, width)));
  return texts;
}

config::ClassNames name_columns(const std::vector<PredictionColumn>& columns,
                                const pipeline::BatchTensors& batch_tensors, const config::ClassNames& of_fields) {
  config::ClassNames names;
  for (const PredictionColumn& column : columns) {
    if (column.kind == Source::Kind::field) {
      if (const auto found = of_fields.find(column.source); found != of_fields.end())
        names.emplace(column.name, found->second);
      continue;
    }
    if (column.kind == Source::Kind::result) continue;
    const at::Tensor& output = batch_tensors.outputs[column.index];
    std::vector<std::vector<std::string>> fitting;
    for (const auto& [field, classes] : of_fields)
      if (output.dim() >= 2 && output.size(1) == static_cast<int64_t>(classes.size())) fitting.push_back(classes);
    if (fitting.size() == 1) names.emplace(column.name, fitting.front());
  }
  return names;
}

std::vector<PredictionColumn> choose_columns(const ColumnChoice& choice, const components::Model& model,
                                             const std::vector<components::SampleField>& fields,
                                             const TextSupport& text) {
  std::vector<PredictionColumn> columns = choose_outputs(choice, model);
  std::vector<std::string> known;
  for (const components::SampleField& field : fields) known.push_back(field.name);
  for (const std::string& name : choice.fields) {
    const size_t index = find(name, known, "--fields", "a field of the dataset");
    columns.push_back(choose_field(fields[index], index, text));
  }
  if (std::ranges::any_of(columns, [](const PredictionColumn& column) {
        return column.is_text() && column.kind == Source::Kind::output;
      }))
    require_text(text);
  require_unique(columns);
  distinguish(columns, choice.reserved);
  return columns;
}

}  // namespace tenon::host
