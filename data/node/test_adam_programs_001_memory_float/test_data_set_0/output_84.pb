B
H_second_GJÒÔd@°ß(?nó÷>—@