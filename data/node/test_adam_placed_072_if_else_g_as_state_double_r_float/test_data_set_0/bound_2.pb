BX2_new_capturedJ íP`?«¤ß<èQct
Æ<bSêËßÕ<:µåƒÏÔ<