// Empty here: the step 01-lds brings it.
