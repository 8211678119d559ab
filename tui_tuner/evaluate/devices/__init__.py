"""Devices, as the runner process drives them."""
