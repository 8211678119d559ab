"""OpenCL buffers between bands of a pattern that show who wrote beyond them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyopencl as cl

from tui_tuner.evaluate.devices.cuda.guarded_memory import BAND, PATTERN, Layout, damage


def banded(nbytes: int, alignment: int) -> Layout:
    """An array of at least one byte between two bands, its start where a sub-buffer may begin."""
    offset = -(-BAND // alignment) * alignment
    size = max(nbytes, 1)
    return Layout(offset + size + size % 2 + BAND, offset, size)


@dataclass(frozen=True)
class BandedBuffer:
    """One array on the device.

    Attributes:
        whole: the buffer with its bands.
        part: the array alone, a sub-buffer; what the kernel gets.
        pristine: an untouched copy of a restored array.
    """

    whole: cl.Buffer
    part: cl.Buffer
    layout: Layout
    pristine: cl.Buffer | None

    def release(self) -> None:
        """Give the memory back."""
        self.part.release()
        self.whole.release()
        if self.pristine is not None:
            self.pristine.release()


def allocate(queue: cl.CommandQueue, host: np.ndarray, alignment: int, *, restored: bool) -> BandedBuffer:
    """Copy a contiguous host array to the device.

    Raises:
        cl.Error: out of memory.
    """
    layout = banded(host.nbytes, alignment)
    whole = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, layout.mapped)
    cl.enqueue_fill_buffer(queue, whole, np.array([PATTERN], np.uint16), 0, layout.mapped)
    part = whole.get_sub_region(layout.offset, layout.nbytes)
    pristine = cl.Buffer(queue.context, cl.mem_flags.READ_ONLY, layout.nbytes) if restored and host.nbytes else None
    for target in (part, pristine):
        if target is not None and host.nbytes:
            cl.enqueue_copy(queue, target, host)
    return BandedBuffer(whole, part, layout, pristine)


def violation(queue: cl.CommandQueue, buffer: BandedBuffer) -> str | None:
    """Where the bands were written over, in words, or None."""
    layout = buffer.layout
    before, after = np.empty(layout.offset, np.uint8), np.empty(layout.after, np.uint8)
    cl.enqueue_copy(queue, before, buffer.whole, src_offset=0)
    cl.enqueue_copy(queue, after, buffer.whole, src_offset=layout.offset + layout.nbytes)
    return damage(layout, before, after)
