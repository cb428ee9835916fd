BX_newJ {QЮЮ»?аХчT
Gг?°Ru‡Ћмїeiњ‰єlЮ?