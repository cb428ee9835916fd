BX_newJ ¤ª²°Ô¡o>þKØGLô>êxð¶vù{>™€3
[N}>