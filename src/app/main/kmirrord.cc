// The kmirrord daemon; see kmirror/app/daemon.h.
#include "kmirror/app/daemon.h"

int main(int argc, char** argv) { return kmirror::app::run_daemon(argc, argv); }
