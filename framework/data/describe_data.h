// A short description of a dataset, to find out whether its data have changed since a checkpoint.
#pragma once

#include <map>
#include <string>

#include "framework/components/kinds/dataset.h"
#include "framework/config/plan/run_plan.h"

namespace tenon::data {

// Texts by what they describe: the number of samples, the fields, and digests of what the dataset knows.
using DataDescription = std::map<std::string, std::string>;

// Reads no sample, and no contents of files that only samples name, apart from the fingerprint that the plugin
// computes:
//
//   samples       their number
//   fields        name, dtype and shape of each
//   names         of all samples in their order, if the dataset names them: number and digest
//   files         name and size of each file that a parameter or, below 100,000 samples, a sample names: number, bytes
//                 and digest. Folders that hold them may have moved.
//   contents      of the files that parameters name; above 16 MiB three pieces of 64 KiB
//   fingerprint   of the contents, if the plugin computes it
//
// `plan`: that the dataset was created with.
DataDescription describe_data(const components::Dataset& dataset, const config::NamedDataset& plan);

// Each difference on a line, after a line break: "  samples: 20, now 21". Empty if there is none.
std::string compare_descriptions(const DataDescription& before, const DataDescription& now);

}  // namespace tenon::data
