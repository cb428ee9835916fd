B
X_second_RJ}'>Й‡B?›ЦХ?\і?