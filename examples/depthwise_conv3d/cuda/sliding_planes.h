// Empty here: the step 06-sliding-planes brings it.
