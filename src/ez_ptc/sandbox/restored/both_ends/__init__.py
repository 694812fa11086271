"""What the host and the zygote say to each other about workers that are restored: standard library only."""
