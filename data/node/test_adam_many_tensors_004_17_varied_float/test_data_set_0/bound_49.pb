BH16_newJ.nzªÏÕ >gW
'ö>