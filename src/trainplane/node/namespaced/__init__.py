"""The namespaced Runner: containers are processes in namespaces of their own, made by a fork server."""
