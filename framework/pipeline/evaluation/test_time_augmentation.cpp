#include "framework/pipeline/evaluation/test_time_augmentation.h"

#include <tenon/draft/field_details.h>
#include <torch/types.h>

#include <algorithm>
#include <vector>

#include "framework/components/tensors/tensor_handles.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"

namespace tenon::pipeline {

namespace {

[[noreturn]] void refuse(const Evaluation& evaluation, const std::string& found, const std::string& expected) {
  throw support::Error(support::ErrorKind::configuration, "command line: --tta flip is given, but {} {}; expected {}",
                       evaluation.model.component().describe(), found, expected);
}

// The fields that the model reads as images.
std::vector<size_t> find_images(const Evaluation& evaluation, const BoundDataset& data,
                                const BatchTensors& batch_tensors) {
  std::vector<size_t> images;
  for (const Source& source : data.model.front().sources()) {
    if (source.kind != Source::Kind::field) continue;
    const at::Tensor field = source.take(batch_tensors);
    if (field.dim() == 4 && field.is_floating_point() && std::ranges::count(images, source.index) == 0)
      images.push_back(source.index);
  }
  if (images.empty())
    refuse(evaluation, "reads no images", "a model with a floating-point input [N, C, H, W]: remove --tta");
  return images;
}

// A model that learned places in its images predicts other ones in the mirrored images.
void refuse_places(const Evaluation& evaluation, const BoundDataset& data, const std::vector<size_t>& images) {
  const std::vector<components::SampleField>& fields = data.transforms.fields();
  for (const components::SampleField& field : fields)
    for (const size_t image : images)
      if (field.role != TENON_FIELD_NUMBERS && field.image == fields[image].name)
        refuse(evaluation,
               fmt::format("is for data with {} in the images: the field {}",
                           field.role == TENON_FIELD_BOXES       ? "boxes"
                           : field.role == TENON_FIELD_KEYPOINTS ? "keypoints"
                                                                 : "angles",
                           field.name),
               "data without them: remove --tta");
  for (const components::ModelResult& result : evaluation.model.results())
    if (result.role != TENON_FIELD_NUMBERS)
      refuse(evaluation, "has results that are places in its images: " + result.name,
             "a model without them: remove --tta");
}

// Returns whether the last dimension of the output is the width of pixels.
bool holds_pixels(const Evaluation& evaluation, size_t number, const BatchTensors& batch_tensors,
                  const std::vector<size_t>& images) {
  const at::Tensor& output = batch_tensors.outputs[number];
  const auto describe = [&] {
    return fmt::format("has the output {}: {}", evaluation.model.outputs()[number].name, components::describe(output));
  };
  if (!output.is_floating_point()) refuse(evaluation, describe(), "floating-point outputs, which have a mean");
  if (output.dim() <= 2) return false;
  if (output.dim() == 4) return true;
  const bool has_size = output.dim() == 3 && std::ranges::any_of(images, [&](size_t field) {
                          return output.sizes().slice(1) == batch_tensors.fields[field].sizes().slice(2);
                        });
  if (!has_size)
    refuse(evaluation, describe(), "outputs [N], [N, C], [N, C, H, W], or [N, H, W] with the size of the image");
  return true;
}

}  // namespace

void run_augmented_model(Evaluation& evaluation, BoundDataset& data, BatchTensors& batch_tensors,
                         const components::StepContext& context) {
  run_model(evaluation, data, batch_tensors, context);
  if (evaluation.test_time_augmentation == TestTimeAugmentation::none) return;
  const std::vector<size_t> images = find_images(evaluation, data, batch_tensors);
  refuse_places(evaluation, data, images);
  BatchTensors mirrored = batch_tensors;
  for (const size_t image : images) mirrored.fields[image] = batch_tensors.fields[image].flip({-1});
  run_model(evaluation, data, mirrored, context);
  for (size_t i = 0; i < batch_tensors.outputs.size(); ++i) {
    at::Tensor output = mirrored.outputs[i];
    if (holds_pixels(evaluation, i, batch_tensors, images)) output = output.flip({-1});
    batch_tensors.outputs[i] = (batch_tensors.outputs[i] + output) / 2;
  }
}

}  // namespace tenon::pipeline
