B
V_second_XJÔs¯½£Â ¿î[»?Ð^ø=