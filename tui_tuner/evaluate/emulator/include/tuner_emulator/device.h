// Everything a CUDA source sees without including a thing.
#pragma once

// The system's headers come first: the macros below would change their meaning.
#include <assert.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "qualifiers.h"
#include "vectors.h"
#include "runtime.h"
#include "warp.h"
#include "atomics.h"
#include "memory.h"
#include "integers.h"
#include "packed.h"
#include "floats.h"
#include "conversions.h"
#include "host.h"
