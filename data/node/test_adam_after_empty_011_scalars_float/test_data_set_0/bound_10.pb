BH3_newJŸë
v*…>