BH16_newJ@»^M §>gW
'ö>