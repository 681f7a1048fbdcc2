// Draws pictures of simple shapes on textured backgrounds.
#pragma once

#include <array>

#include <opencv2/core.hpp>
#include <tenon/random.hpp>

namespace example_data {

enum class Form { circle, square, triangle };
constexpr std::array<Form, 3> kForms = {Form::circle, Form::square, Form::triangle};

const char* name_of(Form form);

struct Shape {
  Form form;
  double x, y;      // centre, in pixels; the centre of a pixel is half a pixel from its edges
  double radius;    // radius of the circumscribed circle, in pixels
  double rotation;  // in radians
};

// Returns the fraction of the pixel that is within the shape, in [0, 1].
double coverage_of(const Shape& shape, int column, int row);

using Colour = cv::Vec3f;  // red, green and blue, 0 to 255

Colour draw_colour(tenon::Random& random);

// Two colours that blend into each other in waves.
class Texture {
 public:
  Texture(const Colour& one, const Colour& other, tenon::Random& random);

  const Colour& one() const { return one_; }
  const Colour& other() const { return other_; }
  Colour at(int column, int row) const;

 private:
  struct Wave {
    double across, down, phase;
  };

  Colour one_, other_;
  std::array<Wave, 3> waves_;
};

class Picture {
 public:
  // Creates a picture that contains only the background.
  Picture(cv::Size size, tenon::Random& random);

  // Draws the shape with antialiased edges, in colours that differ from those of the background.
  void paint(const Shape& shape, tenon::Random& random);

  // Returns the picture as 8-bit RGB with a little noise.
  cv::Mat develop(tenon::Random& random) const;

 private:
  Texture ground_;
  cv::Mat_<Colour> pixels_;
};

}  // namespace example_data
