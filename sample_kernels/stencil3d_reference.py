"""What stencil3d.cu computes, in NumPy."""


def stencil3d(input, output, depth, height, width):
    result = input.copy()
    inner = slice(1, -1)
    along_x = input[inner, inner, :-2] + input[inner, inner, 2:]
    along_y = input[inner, :-2, inner] + input[inner, 2:, inner]
    along_z = input[:-2, inner, inner] + input[2:, inner, inner]
    result[inner, inner, inner] = 0.4 * input[inner, inner, inner] + 0.1 * (along_x + along_y + along_z)
    return result
