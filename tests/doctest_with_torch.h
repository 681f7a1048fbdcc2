// doctest for a file that also sees LibTorch, with which it shares the names CHECK and toString.
#pragma once

#include <torch/types.h>
#include <torch/utils.h>

// LibTorch's would end the process at the first failure.
#undef CHECK
// c10::toString(ScalarType) gives a char pointer, found before doctest's own: turn it into a doctest::String once more.
#define DOCTEST_CONFIG_DOUBLE_STRINGIFY
#include <doctest/doctest.h>
