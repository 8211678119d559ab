#pragma once
// What is in it the emulator does not run, and says so where it is used.

// What host code in a project's headers names of it.
typedef enum curandStatus { CURAND_STATUS_SUCCESS = 0 } curandStatus_t;
typedef struct curandGenerator_st *curandGenerator_t;
