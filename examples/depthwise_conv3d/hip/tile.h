// Empty here: the step 02-lds-tile brings it.
