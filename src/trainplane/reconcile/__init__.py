"""The contract between those that think and those that act: View, Decision, Controller. Pure."""
