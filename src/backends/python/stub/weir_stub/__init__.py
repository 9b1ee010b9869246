"""Runs a Triton Python model for Weir. Nothing here is for models: those import triton_python_backend_utils."""
