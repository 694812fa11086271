"""Serving tools and toolkits over the Model Context Protocol: what clients list, call and approve."""
