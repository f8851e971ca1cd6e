// Empty here: the step 07-rows-and-columns brings it.
