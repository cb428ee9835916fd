BX10_newJ½
y«û?