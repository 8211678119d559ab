"""What is known of Tensile without running it: valid values, terminology, facts of GPUs; all of it data."""
