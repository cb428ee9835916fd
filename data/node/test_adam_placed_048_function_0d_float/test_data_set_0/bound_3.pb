B
H_new_sameJ╢o#еоUа>