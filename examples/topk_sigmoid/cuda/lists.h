// Empty here: the step 06-merged-lists brings it.
