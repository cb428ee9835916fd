B	X2_new_XVJhLº>’D¬?H
@¦`”?