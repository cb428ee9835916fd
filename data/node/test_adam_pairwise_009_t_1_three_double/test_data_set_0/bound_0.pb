BX1_newJuBã°
;h?&‰È”	?