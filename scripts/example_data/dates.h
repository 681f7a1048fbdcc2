#pragma once

#include <filesystem>

namespace example_data {

// Writes dates.tsv for the dataset text_pairs: 10000 rows with unique sources. The column source is a date from 1900 to
// 2099 in a common style ("3rd of March 1999", "Wed, Mar 3, 1999"). The column target is the same date in ISO 8601
// ("1999-03-03"). If day and month are both numbers, the separator defines their order: day.month.year, month/day/year,
// year-month-day.
void write_dates(const std::filesystem::path& folder);

}  // namespace example_data
