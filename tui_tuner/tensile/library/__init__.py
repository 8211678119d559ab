"""The library logic that Tensile writes: which solution a library takes at which size; read, explained and merged."""
