#pragma once
#include <tuner_emulator/device.h>

#define CUDA_VERSION 12000
