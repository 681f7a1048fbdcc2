#include "host/predictor/predictor.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <utility>

#include "framework/components/tensors/tensor_handles.h"
#include "framework/config/file/usable_resources.h"
#include "framework/data/batch_ring.h"
#include "framework/pipeline/build/compute_losses.h"
#include "framework/pipeline/threads/spin_limiter.h"
#include "framework/precision/precision.h"
#include "framework/support/diagnostics/error.h"
#include "host/predict/predicted_rows.h"
#include "host/predictor/log_scope.h"
#include "host/predictor/one_thread.h"

namespace tenon::predictor {

using pipeline::Source;
using support::Error;
using support::ErrorKind;

namespace {

constexpr uint64_t kMostSamples = uint64_t{1} << 20;  // of one call

uint32_t choose_threads(uint32_t threads) {
  return threads > 0 ? threads : static_cast<uint32_t>(config::count_usable_cores());
}

// An output may be a view of an input, and the memory of inputs ends with the call.
at::Tensor keep(const at::Tensor& tensor) { return tensor.clone(at::MemoryFormat::Contiguous); }

// The names of the classes of an output, where its port or its result says that it has classes; or none.
std::vector<std::string> find_class_names(const host::PredictionColumn& column, const components::Model& model,
                                          const config::ClassNames& of_fields) {
  std::vector<std::vector<std::string>> fitting;
  for (const auto& [field, names] : of_fields) {
    bool fits = false;
    if (column.kind == Source::Kind::result) {
      fits = std::ranges::count(model.results(), column.name, &components::ModelResult::classes) > 0;
    } else {
      const components::ShapePattern& shape = model.outputs()[column.index].shape;
      fits = !shape.any && shape.extents.size() >= 2 && shape.extents[1].size == static_cast<int64_t>(names.size());
    }
    if (fits) fitting.push_back(names);
  }
  return fitting.size() == 1 ? fitting.front() : std::vector<std::string>();
}

void check_scores(const std::string& name, const at::Tensor& scores, uint64_t top_k) {
  if (scores.dim() != 2 || !scores.is_floating_point() || static_cast<uint64_t>(scores.size(1)) < top_k)
    throw Error(
        ErrorKind::configuration,
        "top_k is {}, and the output {} is {}; expected floats [samples, classes] with at least that many classes",
        top_k, name, components::describe(scores));
}

}  // namespace

Predictor::Predictor(const ModelOptions& options, uint32_t threads, uint32_t concurrency)
    : threads_(choose_threads(threads)) {
  const size_t count = std::max<uint32_t>(concurrency, 1);
  pipeline::require_threads(static_cast<int64_t>(threads_) * static_cast<int64_t>(count));
  const OneThread settings(/*flush_denormal=*/false);
  opened_ = open_model(options, count);
  precision::require_supported(opened_->plan.train.precision, {}, options.file.string());
  try {
    for (const ModelField& field : opened_->fields) writers_.push_back(make_field_writer(field));
  } catch (const Error& error) {
    throw Error(error.kind(), "{}: {}", options.file.string(), error.what());
  }
  for (const components::Model& model : opened_->models)
    runners_.push_back(std::make_unique<Runner>(Runner{model, opened_->connect(model)}));
  columns_ = host::choose_columns({}, opened_->models.front(), {}, {std::nullopt, false});
  describe();
  if (threads_ == 1)
    numbers_ = std::make_unique<FreeNumbers>(count);
  else
    workers_ = std::make_unique<WorkerThreads>(count, [this](size_t) { start_thread(); });
  info_.threads = threads_;
  info_.concurrency = static_cast<uint32_t>(count);
}

// Settings of LibTorch and OpenMP that belong to a thread. The threads that OpenMP starts inherit the first.
void Predictor::start_thread() {
  at::globalContext().setFlushDenormal(opened_->plan.run.flush_denormal);
  at::set_num_threads(static_cast<int>(threads_));
}

void Predictor::describe() {
  const auto list = [this](const std::vector<std::string>& names) {
    std::vector<tenon_string>& texts = texts_.emplace_back();
    for (const std::string& name : names) texts.push_back(components::to_tenon(name));
    return texts.data();
  };
  for (const auto& writer : writers_) {
    const ModelField& field = writer->field();
    tenon_predictor_input input{};
    input.size = sizeof input;
    input.name = components::to_tenon(field.name);
    input.accepts = writer->accepts();
    input.dtype = field.dtype;
    input.shape = field.shape.data();
    input.ndim = static_cast<uint32_t>(field.shape.size());
    input.columns = list(writer->columns());
    input.column_count = writer->columns().size();
    inputs_.push_back(input);
  }
  for (const host::PredictionColumn& column : columns_) {
    tenon_predictor_output output{};
    output.size = sizeof output;
    output.name = components::to_tenon(column.name);
    if (const auto classes = find_class_names(column, opened_->models.front(), opened_->plan.data.class_names);
        !classes.empty()) {
      const auto kept = class_names_.emplace(column.name, classes).first;
      output.classes = list(kept->second);
      output.class_count = kept->second.size();
    }
    outputs_.push_back(output);
  }
  for (const tenon_predictor_input& input : inputs_) input_list_.push_back(&input);
  for (const tenon_predictor_output& output : outputs_) output_list_.push_back(&output);
  info_.size = sizeof info_;
  info_.inputs = input_list_.data();
  info_.input_count = input_list_.size();
  info_.outputs = output_list_.data();
  info_.output_count = output_list_.size();
  info_.description = components::to_tenon(opened_->description);
}

void Predictor::check(const tenon_predictor_request& request) const {
  if (request.sample_count == 0 || request.sample_count > kMostSamples)
    throw Error(ErrorKind::configuration, "the request has {} samples; expected 1 to {}", request.sample_count,
                kMostSamples);
  if (!request.values || request.value_count != request.sample_count * writers_.size())
    throw Error(ErrorKind::configuration,
                "the request has {} values; expected {}, one for each of {} inputs of {} samples",
                request.values ? request.value_count : 0, request.sample_count * writers_.size(), writers_.size(),
                request.sample_count);
  for (uint64_t i = 0; i < request.value_count; ++i)
    if (!request.values[i] || request.values[i]->size < TENON_SIZE_TO(tenon_predictor_value, cell_count))
      throw Error(ErrorKind::configuration, "the value {} is null or cut short; expected {} bytes: set its member size",
                  i, sizeof(tenon_predictor_value));
  if (request.top_k > 0 && columns_.size() != 1)
    throw Error(ErrorKind::configuration, "top_k is {}, and the model has {} outputs; expected one output of scores",
                request.top_k, columns_.size());
}

std::unique_ptr<Prediction> Predictor::run(const tenon_predictor_request& request) {
  check(request);
  const auto samples = static_cast<int64_t>(request.sample_count);
  data::BatchRing ring(opened_->plain, samples, 1);
  std::vector<data::SampleSlot> slots(writers_.size());
  for (int64_t sample = 0; sample < samples; ++sample) {
    ring.locate_sample(0, sample, slots);
    for (size_t input = 0; input < writers_.size(); ++input) {
      const auto number = static_cast<uint64_t>(sample);
      writers_[input]->write(*request.values[number * writers_.size() + input], number, slots[input]);
    }
  }
  if (ring.has_varying_fields()) ring.pad(0, samples);
  data::Batch batch{};
  ring.describe_batch(0, samples, batch);
  if (numbers_) {
    const FreeNumbers::Use use(*numbers_);
    const OneThread settings(opened_->plan.run.flush_denormal);
    return compute(use.number(), batch, request.top_k);
  }
  std::unique_ptr<Prediction> prediction;
  workers_->run([&, target = LogScope::current()](size_t number) {
    const LogScope scope(target);
    prediction = compute(number, batch, request.top_k);
  });
  return prediction;
}

std::unique_ptr<Prediction> Predictor::compute(size_t number, const data::Batch& batch, uint64_t top_k) {
  const at::NoGradGuard no_grad;
  Runner& runner = *runners_[number];
  const config::RunPlan& plan = opened_->plan;
  pipeline::BatchTensors tensors = pipeline::view_batch(batch, opened_->plain);
  opened_->transforms.check(tensors.fields);
  opened_->transforms.apply(tensors.fields, /*training=*/false, /*seed=*/0);
  {
    const precision::Autocast autocast(plan.train.precision, at::kCPU);
    std::vector<at::Tensor> inputs = runner.wiring.gather(tensors);
    for (at::Tensor& input : inputs)
      input = pipeline::to_layout(plan.train.precision, opened_->memory_format, std::move(input));
    tensors.outputs = runner.model.forward(opened_->context, inputs);
  }
  if (!runner.model.results().empty())
    tensors.results = pipeline::compute_results(runner.model, tensors.outputs, opened_->context);
  auto prediction = std::make_unique<Prediction>();
  for (const host::PredictionColumn& column : columns_) {
    prediction->names.push_back(column.name);
    prediction->tensors.push_back(keep(column.read(tensors)));
    const bool is_list = column.kind == Source::Kind::result && runner.model.results()[column.index].is_list;
    prediction->row_counts.push_back(is_list ? keep(tensors.results.lengths[column.index].to(at::kCPU, at::kLong))
                                             : at::Tensor());
  }
  if (top_k > 0) {
    check_scores(columns_.front().name, prediction->tensors.front(), top_k);
    host::TopColumns top =
        host::find_top_classes(columns_.front().name, prediction->tensors.front(), static_cast<int64_t>(top_k));
    prediction->top_classes = std::move(top.classes);
    prediction->top_probabilities = std::move(top.probabilities);
  }
  for (size_t i = 0; i < columns_.size(); ++i) {
    const at::Tensor& tensor = prediction->tensors[i];
    tenon_predicted_output output{};
    output.size = sizeof output;
    output.name = components::to_tenon(prediction->names[i]);
    output.dtype = components::to_dtype(tensor.scalar_type());
    output.ndim = static_cast<uint32_t>(tensor.dim());
    output.shape = tensor.sizes().data();
    output.elements = tensor.const_data_ptr();
    output.byte_count = tensor.nbytes();
    if (prediction->row_counts[i].defined()) output.row_counts = prediction->row_counts[i].const_data_ptr<int64_t>();
    prediction->outputs.push_back(output);
  }
  for (const tenon_predicted_output& output : prediction->outputs) prediction->list.push_back(&output);
  tenon_prediction& base = prediction->base;
  base.size = sizeof base;
  base.sample_count = static_cast<uint64_t>(batch.size);
  base.outputs = prediction->list.data();
  base.output_count = prediction->list.size();
  if (top_k > 0) {
    base.top_classes = prediction->top_classes.const_data_ptr<int64_t>();
    base.top_probabilities = prediction->top_probabilities.const_data_ptr<float>();
    base.top_k = top_k;
  }
  return prediction;
}

}  // namespace tenon::predictor
