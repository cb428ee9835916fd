BV_new_laterJ}á
RÓ­?