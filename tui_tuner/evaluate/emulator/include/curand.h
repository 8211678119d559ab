#pragma once
// What is in it the emulator does not run, and says so where it is used.
