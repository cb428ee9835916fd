B
G3_scalarsJ«{”¿