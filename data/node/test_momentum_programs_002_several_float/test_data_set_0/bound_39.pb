BX_new_vanishing_2J ΘE%¥φb³> SZϊCΐ>9‡ΠΖΙ§>pύθΆ
ΕΎ>