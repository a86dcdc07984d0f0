"""What is compared: arms, tasks, and the configs made of them."""
