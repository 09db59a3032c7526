"""Rules about named axes, meshes and devices."""
