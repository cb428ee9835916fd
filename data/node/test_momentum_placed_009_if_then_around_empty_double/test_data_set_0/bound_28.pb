BV3_new_twin_captured_ifJ
*í(Ø¨<UŒ#	m«<