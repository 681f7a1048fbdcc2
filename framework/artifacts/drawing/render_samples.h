// Renders samples for display: images as PNG, all other fields as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "framework/artifacts/checkpoint/tensor_view.h"
#include "framework/config/values/class_names.h"

namespace tenon::artifacts {

// The fields of one sample, without the batch dimension.
using SampleFields = std::vector<TensorView>;

struct RenderedPicture {
  std::string name;  // name of the field
  int64_t height;    // in pixels
  int64_t width;
  std::vector<std::byte> png;
};

struct RenderedSample {
  std::vector<RenderedPicture> pictures;
  std::vector<std::pair<std::string, std::string>> values;  // a field and its first values: "label", "3"
};

// The values of black and white in the images of a field.
struct GreyRange {
  double smallest;
  double largest;
};

// How the pixels of a field were normalised: value = (pixel / largest pixel - mean) / std. One number for each channel,
// or one for all.
struct Normalisation {
  std::vector<double> mean;
  std::vector<double> std;
};
using Normalisations = std::map<std::string, Normalisation>;  // by field

// What the numbers of a field are in an image, see tenon/draft/field_details.h.
struct ImagePlace {
  uint32_t role;        // TENON_FIELD_BOXES, ...
  std::string image;    // name of the field with the image
  std::string classes;  // name of the field with the classes of boxes; "": none
  // Whether the numbers are predictions: these are drawn into a second picture of the image.
  bool is_predicted = false;
  std::string named_by = {};  // name of the field that has the names of the classes; "": that of `classes`
};
using ImagePlaces = std::map<std::string, ImagePlace>;  // by field

struct ImageDetails {
  Normalisations normalisations = {};
  ImagePlaces places = {};
};

// The colour of a class in masks, or of its boxes.
struct ClassColour {
  std::string name;    // or the number of the class; "ignored" for pixels without a class
  std::string colour;  // "#6699ff"
};

struct RenderedSamples {
  std::vector<RenderedSample> samples;
  std::map<std::string, GreyRange> ranges;  // ranges of the scaled fields, by field
  std::vector<ClassColour> colours = {};    // of the classes that masks and boxes have
};

// Renders the fields of samples:
// - uint8 [height, width, 1 or 3] is an image, unchanged.
// - Floats [1 or 3, height, width] are an image. If its normalisation is known, it has its true colours. Otherwise it
//   is scaled so that the smallest value of the field in all samples is black and the largest is white.
// - Boxes and keypoints with a place in an image are drawn into it, in the colours of their classes. Such a picture is
//   enlarged to about 256 pixels.
// - Integers [height, width] are a segmentation mask if the sample has an image of that size. The mask is rendered over
//   a grey copy of the image: class 0 is transparent, and each other class has a separate colour. Values below 0 or
//   above 254, such as ignored labels, are white.
// - Other fields are text: their first values. Integers of a field in `names` are followed by the names of the classes:
//   `3 (cat)`.
// `longest` is the maximum number of pixels of a side. Larger images are shrunk by an integer factor, and each pixel is
// the mean of the pixels that it replaces.
RenderedSamples render_samples(const std::vector<SampleFields>& samples, int64_t longest,
                               const config::ClassNames& names = {}, const ImageDetails& details = {});

// Whether the field is an image by the rules above.
bool is_image(const TensorView& field);

// Returns a legend as a <p> element, with inline styles: "Colours of classes: ". "" without colours.
std::string draw_legend(const std::vector<ClassColour>& colours);

// Returns an <img> element with the embedded file. A small image is enlarged by an integer factor, so that its pixels
// are visible.
std::string embed_picture(const RenderedPicture& picture);

// The rules of a style sheet for samples in an element of the class `samples`. They use the colours of chart_style().
std::string sample_style();

struct SheetSample {
  std::string caption;                  // "sample 17"
  std::vector<TensorView> fields;       // without the batch dimension; the same fields in all samples
  std::vector<std::string> lines = {};  // text below the caption
};

// Returns a self-contained HTML page that shows the samples in the form in which a model receives them, in the style of
// the report. It shows the values of black and white for scaled fields, and the colours of the classes in masks.
std::string make_contact_sheet(const std::string& title, const std::vector<SheetSample>& samples,
                               const config::ClassNames& names = {}, const ImageDetails& details = {});

}  // namespace tenon::artifacts
