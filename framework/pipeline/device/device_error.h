// Recognises errors of a CUDA device.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "framework/support/diagnostics/error.h"

namespace tenon::pipeline {

// Whether the error comes from CUDA or one of its libraries (cuBLAS, cuDNN, cuFFT, cuSOLVER, cuSPARSE, NCCL), also if a
// plugin passed it on as text. After most of these errors every later call of CUDA in this process fails. Memory that
// runs out is no such error.
bool is_device_error(const std::exception& error);

// Whether the memory of the device has run out, also if a plugin passed the error on as text. Later calls work.
bool is_out_of_memory(const std::exception& error);

// Returns Error(device) with the first line of the error, the step, and a hint. `step`: the number of the step that was
// running, from 1; 0: none. REQUIRES: is_device_error(error).
support::Error explain_device_error(const std::exception& error, int64_t step);

// The message of an error, without LibTorch's backtrace.
std::string message_of(const std::exception& error);

// The first line of that message.
std::string first_line(const std::exception& error);

}  // namespace tenon::pipeline
