BAbcDefghijklmnopJ $nv
¾Ÿ´>Ñ#yó˜€“>@®›>AÑQìvb¿>