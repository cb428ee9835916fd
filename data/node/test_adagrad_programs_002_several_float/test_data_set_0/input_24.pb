B
H_infiniteJÔ©|@£@^l×?˜Û€?