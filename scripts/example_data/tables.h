// Tables of the package mlxtend, see source_files.h, with a header line for the dataset table.
#pragma once

#include <filesystem>

namespace example_data {

// cars.csv: 392 cars of 1970 to 1982, by what they weigh and can do, and how many miles they go on a gallon (mpg). The
// Auto MPG set of UCI's repository (Quinlan, "Combining instance-based and model-based learning", 1993).
void write_cars(const std::filesystem::path& folder);

// wine.csv: 178 wines of three cultivars (label, 0 to 2) by 13 chemical measurements. The Wine set of UCI's repository
// (Aeberhard, Coomans and de Vel, "Comparison of classifiers in high dimensional settings", 1992).
void write_wine(const std::filesystem::path& folder);

}  // namespace example_data
