"""From a reply of the model to a kernel that is accepted, or to the reason why not."""
