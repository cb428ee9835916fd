BX_new_infinite_last_1J ΘE%¥φb³> SZϊCΐ>9‡ΠΖΙ§>pύθΆ
ΕΎ>