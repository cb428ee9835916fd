BV_new_atJ}á
RÓ¿