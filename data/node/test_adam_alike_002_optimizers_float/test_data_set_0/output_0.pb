B
X_new_adamJŒM@I7Î?©?=Œ+@