BX2_new_laterJ Ha„•
=™ý¸RÁ=!³E"9ÿ<œ}¸zÿ<