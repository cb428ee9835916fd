BX_newJ3v«ñ6q>T¯@fPs>
Zûº¼8q>