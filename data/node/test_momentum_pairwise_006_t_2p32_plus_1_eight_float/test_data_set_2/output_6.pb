BX7_newJ–
¡É