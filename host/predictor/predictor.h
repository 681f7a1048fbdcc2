// Predicts with the model of a model file, see tenon/draft/predictor.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/draft/predictor.h>

#include "framework/data/sample_source.h"
#include "host/predict/prediction_columns.h"
#include "host/predictor/field_writer.h"
#include "host/predictor/open_model.h"
#include "host/predictor/worker_threads.h"

namespace tenon::predictor {

// The outputs of a batch in host memory.
struct Prediction {
  tenon_prediction base;  // what the program sees; must be first
  std::vector<std::string> names;
  std::vector<at::Tensor> tensors;
  std::vector<at::Tensor> row_counts;  // undefined for outputs that are no lists
  std::vector<tenon_predicted_output> outputs;
  std::vector<const tenon_predicted_output*> list;
  at::Tensor top_classes, top_probabilities;
};

class Predictor {
 public:
  // `threads`: of the operators; 0: one for each core that this process may use. Throws Error as open_model does.
  Predictor(const ModelOptions& options, uint32_t threads, uint32_t concurrency);
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;

  const tenon_predictor_info& info() const { return info_; }

  // [any thread] Throws Error(configuration) for values that do not fit, Error(data) for those that cannot be read, and
  // Error as the model does.
  std::unique_ptr<Prediction> run(const tenon_predictor_request& request);

 private:
  // The model of one thread, and how it is connected.
  struct Runner {
    const components::Model& model;
    pipeline::Wiring wiring;
  };
  void start_thread();
  void describe();
  void check(const tenon_predictor_request& request) const;
  std::unique_ptr<Prediction> compute(size_t number, const data::Batch& batch, uint64_t top_k);

  std::unique_ptr<OpenedModel> opened_;
  std::vector<std::unique_ptr<FieldWriter>> writers_;  // one for each input
  std::vector<host::PredictionColumn> columns_;
  uint32_t threads_;
  std::vector<std::unique_ptr<Runner>> runners_;

  // For info().
  std::vector<std::vector<tenon_string>> texts_;
  std::vector<tenon_predictor_input> inputs_;
  std::vector<tenon_predictor_output> outputs_;
  std::vector<const tenon_predictor_input*> input_list_;
  std::vector<const tenon_predictor_output*> output_list_;
  config::ClassNames class_names_;  // of the outputs
  tenon_predictor_info info_{};

  // With one thread per prediction, it runs on the calling thread, which a hand-over would delay. With more, OpenMP's
  // threads belong to threads of the predictor, and a program with many threads does not get a team for each.
  std::unique_ptr<FreeNumbers> numbers_;
  std::unique_ptr<WorkerThreads> workers_;  // the last member: its threads use the others
};

}  // namespace tenon::predictor
