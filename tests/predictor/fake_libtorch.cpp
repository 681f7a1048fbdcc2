// Stands for a library of LibTorch.
extern "C" int fake_libtorch() { return 0; }
