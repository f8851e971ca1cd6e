// Y = B + X convolved with W over 3 planes, 5 rows and 5 columns of the same channel; rows and
// columns are padded by 2, planes are not. bf16 in and out, sums in single precision.
//
// On the tensor cores, with planes that slide (sliding_planes.h): the next one is fetched while one is computed.

#include "tile.h"
#include "bands.h"
#include "sliding_planes.h"
