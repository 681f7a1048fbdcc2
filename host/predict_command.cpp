#include "host/predict_command.h"

#include <tenon/abi.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "framework/pipeline/predict.h"
#include "framework/pipeline/stored_tensors.h"
#include "host/open_evaluation.h"
#include "host/prediction_columns.h"
#include "host/prediction_file.h"
#include "host/signals.h"
#include "host/standard_streams.h"

namespace tenon::host {

namespace {

void write(const pipeline::Prediction& prediction, const std::vector<PredictionColumn>& columns, PredictionFile& file) {
  const auto samples = static_cast<int64_t>(prediction.indices.size());
  std::vector<artifacts::TensorView> views{{"index",
                                            TENON_INT64,
                                            {samples},
                                            reinterpret_cast<const std::byte*>(prediction.indices.data()),
                                            prediction.indices.size_bytes()}};
  std::vector<at::Tensor> tensors;  // keeps the memory of the views alive
  for (const PredictionColumn& column : columns)
    views.push_back(pipeline::view_of(column.name, tensors.emplace_back(column.read(prediction.batch_tensors))));
  file.append(views);
}

}  // namespace

int predict(const CommandLine& line) {
  Evaluation evaluation(line, Evaluation::Of::outputs);
  pipeline::BoundDataset& data = *evaluation.training().validation.front();
  const std::vector<PredictionColumn> columns =
      choose_columns(line, evaluation.training().model, data.transforms.fields());
  const std::unique_ptr<PredictionFile> file = PredictionFile::make(line.output, data.feed.sampler().size());
  catch_stop_signals();
  size_t samples = 0;
  const auto take = [&](const pipeline::Prediction& prediction) {
    write(prediction, columns, *file);
    samples += prediction.indices.size();
    return stop_signal() == 0;
  };
  if (!pipeline::predict(evaluation.training(), data, evaluation.context(), take)) {
    write_output("stopped; nothing was written\n");
    return 128 + stop_signal();
  }
  file->commit();
  write_output("weights %s\n%s: %zu samples in %s\n", evaluation.describe_weights().c_str(), data.name().c_str(),
               samples, line.output.c_str());
  return 0;
}

}  // namespace tenon::host
