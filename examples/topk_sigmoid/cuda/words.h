// Empty here: the step 01-shared brings it.
