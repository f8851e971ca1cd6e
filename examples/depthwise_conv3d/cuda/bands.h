// Empty here: the step 05-matrix-cores brings it.
