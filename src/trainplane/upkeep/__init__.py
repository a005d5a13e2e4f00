"""What any cluster must do by itself: garbage, TTL, node health, autoscaling. Pure."""
