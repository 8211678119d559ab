"""What verlet_integration.cu computes, in NumPy and with torch."""


def verlet_integration(positions, velocities, stiffness, field, new_positions, new_velocities, dt, n):
    before = field - stiffness[:, None] * positions
    moved = positions + velocities * dt + 0.5 * before * dt * dt
    after = field - stiffness[:, None] * moved
    return moved, velocities + 0.5 * (before + after) * dt
