"""From a Pod and its processes to what should happen next. Pure."""
