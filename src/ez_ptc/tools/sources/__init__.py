"""What tools are made of besides decorated functions."""
