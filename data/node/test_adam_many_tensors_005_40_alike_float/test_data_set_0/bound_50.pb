BV11_newJpÙmm»q>úXöqÊ
‡>