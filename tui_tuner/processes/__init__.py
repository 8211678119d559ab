"""Child processes: what they inherit, how they are started and read, how they and all they started are ended.

Every program that is started is started here. A part that is native code of a candidate forks by itself, see
`evaluate.devices.native` and `evaluate.sandbox`.
"""
