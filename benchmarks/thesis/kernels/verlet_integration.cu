// A step of velocity Verlet for particles that a spring pulls to the origin and a constant field accelerates.
// Positions and velocities hold x, y, z of one particle after the other. One particle a thread.

__device__ float acceleration(float position, float stiffness, float field)
{
    return field - stiffness * position;
}

__global__ void verlet_integration(const float *positions, const float *velocities, const float *stiffness,
                                   const float *field, float *new_positions, float *new_velocities, float dt, int n)
{
    int particle = blockIdx.x * blockDim.x + threadIdx.x;
    if (particle < n) {
        for (int axis = 0; axis < 3; axis++) {
            int i = 3 * particle + axis;
            float before = acceleration(positions[i], stiffness[particle], field[axis]);
            float position = positions[i] + velocities[i] * dt + 0.5f * before * dt * dt;
            float after = acceleration(position, stiffness[particle], field[axis]);
            new_positions[i] = position;
            new_velocities[i] = velocities[i] + 0.5f * (before + after) * dt;
        }
    }
}
