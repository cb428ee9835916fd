BH_newJª;
L‚><œQžÿmw>	’ÎªoŽ>