"""What all backends share, and both ends of one: frames, the exchange of one run, replies, limits and results."""
