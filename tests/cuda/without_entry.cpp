// A shared library without the entry symbol.
extern "C" __attribute__((visibility("default"))) int something_else() { return 1; }
