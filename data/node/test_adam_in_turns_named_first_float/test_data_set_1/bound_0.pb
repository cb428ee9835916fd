BX_newJ N9Вю4ь‘>руq·Лn>±ьn№(і>L
nSҐ>