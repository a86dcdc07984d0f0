"""What is compared: arms, tasks, and the configs of arms."""
