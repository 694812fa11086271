"""JSON Schemas of any draft in one standard form, of which all else is made: descriptions, signatures, checks."""
