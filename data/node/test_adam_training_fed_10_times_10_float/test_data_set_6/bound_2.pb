BV_newJÄ¯Òl
O°>‹É ÆZk¢>Ý×rã¾>