"""JSON shapes of OpenAI's two APIs, and of the servers that speak them."""
