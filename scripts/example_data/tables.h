// Writes tables of the package mlxtend (see source_files.h) with a header line for the dataset table.
#pragma once

#include <filesystem>

namespace example_data {

// Writes cars.csv: 392 cars of 1970 to 1982 with their weight, performance and fuel consumption in miles per gallon
// (mpg). It is the Auto MPG data set of the UCI repository (Quinlan, "Combining instance-based and model-based
// learning", 1993).
void write_cars(const std::filesystem::path& folder);

// Writes wine.csv: 178 wines of three cultivars (label, 0 to 2) with 13 chemical measurements. It is the Wine data set
// of the UCI repository (Aeberhard, Coomans and de Vel, "Comparison of classifiers in high dimensional settings",
// 1992).
void write_wine(const std::filesystem::path& folder);

}  // namespace example_data
