"""The providers of models."""
