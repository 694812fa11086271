"""Schemas as providers take them: what one would refuse is said otherwise, or told in the description."""
