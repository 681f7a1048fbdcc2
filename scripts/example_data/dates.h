#pragma once

#include <filesystem>

namespace example_data {

// For the dataset text_pairs: dates.tsv with the columns source, a date from 1900 to 2099 as somebody may write it
// ("3rd of March 1999", "Wed, Mar 3, 1999"), and target, the same date by ISO 8601 ("1999-03-03"). 10000 rows, no source
// twice. Where day and month are both numbers, their order is told by what stands between: day.month.year,
// month/day/year, year-month-day.
void write_dates(const std::filesystem::path& folder);

}  // namespace example_data
