B	X1_new_ifJ m9~P	р?F…СFкxк?ЃлСj
yд?ЅtюЪ_|ь?