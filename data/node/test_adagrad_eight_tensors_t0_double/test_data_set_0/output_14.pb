BH7_newJ¼‹¢n¾€
@