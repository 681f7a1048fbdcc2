extern "C" int other_libtorch() { return 0; }
