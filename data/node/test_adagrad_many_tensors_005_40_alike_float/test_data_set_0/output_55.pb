BH16_newJSJE@
¿?