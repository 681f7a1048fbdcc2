// The names of classes between weights, the run file and the data.
#pragma once

#include <filesystem>
#include <string>

#include "framework/config/plan/run_plan.h"

namespace tenon::host {

// Numbers the classes of all datasets of the plan as the weights do. `source`: of the names, for messages. Does nothing
// if the weights have no names. Throws Error(configuration) if the run file has other names for the same field.
void use_class_names(config::RunPlan& plan, const config::ClassNames& of_weights, const std::string& source);

// Warns if weights that a run starts from have the same classes as the data in another order: their outputs would first
// be wrong. `weights`: model.weights; empty: none.
void compare_class_names(const std::filesystem::path& weights, const config::ClassNames& of_data);

// Warns if classes with numbers as names are in the order of their values, and class weights or weights without names
// may have the order of their texts: "0, 1, 10, 11, 2", as torchvision's ImageFolder.
void report_number_order(const config::RunPlan& plan, const config::ClassNames& of_data);

// Warns how the classes are numbered if the data name them and the weights do not. `weights`: for the message.
void report_unnamed_classes(const std::string& weights, const config::ClassNames& of_weights,
                            const config::ClassNames& of_data);

// Adds the names that the data declare to the plan, for plan.toml. Leaves them out if they would fill the plan with
// more than 256 KiB; the weights keep them.
void add_class_names(config::RunPlan& plan, const config::ClassNames& of_data);

}  // namespace tenon::host
