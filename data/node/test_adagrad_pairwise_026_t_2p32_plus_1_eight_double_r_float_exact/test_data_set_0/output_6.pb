BX7_newJw_\,0
ƿ