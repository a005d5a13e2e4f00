"""The verbs over the Store."""
