// Empty here: the step 02-shared-tile brings it.
