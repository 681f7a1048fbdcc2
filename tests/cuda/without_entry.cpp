// A shared library that says nothing of devices.
extern "C" __attribute__((visibility("default"))) int something_else() { return 1; }
