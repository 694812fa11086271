"""The JSON of one provider a module, with the same functions in each; pure."""
