"""TrainJob and runtime become a Plan, and the Plan a JobSet with everything beside it. Pure."""
