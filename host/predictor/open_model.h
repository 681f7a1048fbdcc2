// A model of a model file, built to predict.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/components/kinds/model.h"
#include "framework/components/kinds/sample_slot.h"
#include "framework/components/kinds/value_encoder.h"
#include "framework/components/loading/catalogue.h"
#include "framework/config/plan/run_plan.h"
#include "framework/pipeline/build/batch_transforms.h"
#include "framework/pipeline/build/connections.h"

namespace tenon::predictor {

struct ModelOptions {
  std::filesystem::path file;
  std::vector<std::filesystem::path> plugins;  // before those of the installation
  bool accepts_any_plugin = false;
};

// The steps that make a field, of the description.
struct ModelField : components::SampleField {
  std::string preprocessing;                                // JSON as in tenon/preprocessing.h; "null" if there is none
  std::shared_ptr<const components::ValueEncoder> encoder;  // of the dataset; null: it has none
};

struct OpenedModel {
  std::string description;  // model.json
  config::RunPlan plan;     // the parts that prediction needs
  components::Catalogue catalogue;
  std::vector<ModelField> fields;              // that the model reads
  std::vector<components::SampleField> plain;  // the same, for pipeline::view_batch
  pipeline::BatchTransforms transforms;
  components::StepContext context = {};
  config::MemoryFormat memory_format = config::MemoryFormat::contiguous;
  // One for each thread. They share the memory of their tensors.
  std::vector<components::Model> models = {};

  pipeline::Wiring connect(const components::Model& model) const;
};

// Throws Error(checkpoint) for a file that is no model or is damaged, Error(plugin) as the catalogue and the model do,
// and Error(configuration) for parameters that the plugin does not have. `copies`: the number of models.
std::unique_ptr<OpenedModel> open_model(const ModelOptions& options, size_t copies);

}  // namespace tenon::predictor
