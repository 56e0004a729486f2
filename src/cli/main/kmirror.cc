// The kmirror tool; see kmirror/cli/cli.h.
#include "kmirror/cli/cli.h"

int main(int argc, char** argv) { return kmirror::cli::run(argc, argv); }
