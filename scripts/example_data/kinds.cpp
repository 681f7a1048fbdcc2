#include "scripts/example_data/kinds.h"

#include "scripts/example_data/classes.h"
#include "scripts/example_data/dates.h"
#include "scripts/example_data/descriptions.h"
#include "scripts/example_data/jargon.h"
#include "scripts/example_data/pairs.h"
#include "scripts/example_data/shapes.h"

namespace example_data {

const std::vector<Kind>& all_kinds() {
  static const std::vector<Kind> kinds = {
      {"classes", "pictures of a circle, a square or a triangle in a folder for each, and a table with their sizes",
       &write_classes},
      {"dates", "dates as people write them, and by ISO 8601", &write_dates},
      {"descriptions", "Debian packages' descriptions and their synopses, from apt's lists", &write_descriptions},
      {"jargon", "the Jargon File, a book, from Debian's package jargon-text", &write_jargon},
      {"pairs", "two pictures a row of a table: is it the same shape, and how much larger is the second?",
       &write_pairs},
      {"shapes", "pictures with several shapes, and masks that tell which pixel is of which", &write_shapes},
  };
  return kinds;
}

}  // namespace example_data
