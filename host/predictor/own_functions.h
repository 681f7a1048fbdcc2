// Keeps LibTorch from calling functions of the program in place of those that it defines.
#pragma once

namespace tenon::predictor {

// LibTorch contains a BLAS, and calls it through symbols that the loader searches in the program first. OpenCV, for
// example, brings a slower BLAS with other results. Lets the library call the functions of C that it defines wherever
// the program has others. `library`: the handle of libtorch_cpu.so, before any of its functions is called. Throws
// std::system_error if the memory of its table of functions cannot be changed.
void use_own_functions(void* library);

}  // namespace tenon::predictor
