"""What must be fast: the reference on any device, compiled code for float32 on the CPU."""
