// The program that tests start as `burnish worker`.

#include "device/device.h"

int main() { return burnish::device::worker_main(); }
