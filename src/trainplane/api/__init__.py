"""The words: the API's types, and the algebra over them. Pure."""
