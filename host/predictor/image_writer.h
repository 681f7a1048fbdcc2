// Inputs that are images, read by the image library as in training.
#pragma once

#include <memory>

#include "host/predictor/field_writer.h"

namespace tenon::predictor {

// Null if the field's preprocessing does not begin with the decoding of an image, or is random; the log says the
// latter. Throws Error(plugin) if the image library does not know the transforms, or cannot be loaded.
std::unique_ptr<FieldWriter> make_image_writer(const ModelField& field);

}  // namespace tenon::predictor
