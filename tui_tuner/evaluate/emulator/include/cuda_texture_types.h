#pragma once
#include <tuner_emulator/device.h>
