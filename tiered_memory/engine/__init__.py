"""All that knows Redis: connections, the embedded server, keys, indexes, scripts, and the runners of plans."""
