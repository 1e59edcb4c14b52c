"""The generator: nvml.h and the tables become exports, argument checks, handlers and the binding's modules.  Nothing it writes is committed."""
