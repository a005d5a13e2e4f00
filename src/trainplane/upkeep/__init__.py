"""What any cluster must do by itself: garbage, TTL, namespaces, nodes, autoscaling, quotas, endpoints. Pure."""
